"""The report as one HTML page that needs nothing else: data as JSON, figures, styles and script are inside it."""
