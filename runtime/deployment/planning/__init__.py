"""From the model of a deployment to the steps that start, serve and end it."""
