"""The page that shows a run: read from its folder, judged, drawn, and put into one file of HTML."""
