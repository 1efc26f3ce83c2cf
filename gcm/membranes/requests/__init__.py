"""What is asked of an active object: requests, their queue, priorities, and when all are done."""
