"""Results for people (terminal), for programs (JSON documents), and progress in between."""
