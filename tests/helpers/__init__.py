"""What several tests start from."""
