// Package page renders a document of facts, a timeline and tables, for people: as one file of HTML that
// needs nothing else, or as Markdown. A value in, bytes out.
package page

import "github.com/sliceshift/sliceshift/migration/report/chart"

// Page is a document.
type Page struct {
	Title string
	// Lead is one sentence that says what it is about and how it stands.
	Lead  string
	Facts []Fact
	// Chart is the timeline; nil: there is none.
	Chart    *chart.Chart
	Sections []Section
	// Note is the last line: where this is from.
	Note string
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Section is a table under a heading, with a sentence before it.
type Section struct {
	Title, Text string
	Head        []string
	Rows        [][]string
}
