"""What turns of loops repeat enters, work on whole arrays leaves: the steps of `batch`."""
