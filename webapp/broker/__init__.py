"""Celery over RabbitMQ or Redis: messages say what waits; the rows of the database stay the truth of it."""
