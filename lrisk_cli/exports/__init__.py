"""Models in other languages: SQL, Python, ONNX."""
