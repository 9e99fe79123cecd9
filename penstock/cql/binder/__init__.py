"""From syntax trees to plan nodes: names are looked up, types checked, and every mistake is reported with its place."""
