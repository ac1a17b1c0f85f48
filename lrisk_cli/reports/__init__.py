"""Results as text, as JSON documents and as pages, and progress while they are computed."""
