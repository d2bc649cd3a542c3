package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"
	"text/template"

	"github.com/sliceshift/sliceshift/internal/figures"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page returns the documentation page of the demonstration, with the figures of these runs.
func page(results []result) (string, error) {
	var out strings.Builder
	err := pageTemplate.Execute(&out, map[string]any{"Runs": len(results), "Table": figures.Block("e2e-etcd", markdown(results)), "Patience": patience, "Cores": runtime.NumCPU()})
	return out.String(), err
}

// markdown returns the table of the figures.
func markdown(results []result) string {
	var out strings.Builder
	out.WriteString("| |")
	for _, r := range results {
		fmt.Fprintf(&out, " %s |", r.name)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(results)) + "\n")
	for _, row := range rows(results) {
		out.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return out.String()
}
