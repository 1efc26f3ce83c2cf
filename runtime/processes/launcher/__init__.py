"""The process that deploys a plan: it opens the clusters, and sees everything to its end."""
