"""`lrisk schema`: the JSON Schema of model files."""


def schema() -> None:
    """Print the JSON Schema of model files.

    Examples:
        lrisk schema > lrisk-model.schema.json
        lrisk schema | head -5
    """
    from lrisk_cli.models.model_file import model_schema
    from lrisk_cli.reports.documents import print_document

    print_document(model_schema())
