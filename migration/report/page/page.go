// Package page renders a document of facts, a timeline and tables, as one self-contained HTML file or as
// Markdown. It is pure: a value in, bytes out.
package page

import "github.com/sliceshift/sliceshift/migration/report/chart"

// Page is a document.
type Page struct {
	Title string
	// Lead is one sentence with the subject and its state.
	Lead  string
	Facts []Fact
	// Chart is the timeline; nil if there is none.
	Chart    *chart.Chart
	Sections []Section
	// Note is the last line, which names the source of the document.
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
