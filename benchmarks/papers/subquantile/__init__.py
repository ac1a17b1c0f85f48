"""The tables and figures of the paper on subquantile minimisation, measured again."""
