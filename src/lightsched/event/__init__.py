"""What is an event? The model: event, command, delivery, report, and the words in which they are refused."""
