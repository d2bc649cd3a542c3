package page

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sliceshift/sliceshift/migration/report/chart"
)

// Markdown returns the document as Markdown that is also readable as plain text, without its timeline.
func Markdown(p Page) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", cell(p.Title), cell(p.Lead))
	facts := make([][]string, 0, len(p.Facts))
	for _, fact := range p.Facts {
		facts = append(facts, []string{fact.Name, fact.Value})
	}
	table(&b, []string{"", ""}, facts)
	for _, section := range p.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n", cell(section.Title))
		if section.Text != "" {
			fmt.Fprintf(&b, "%s\n", cell(section.Text))
		}
		if section.Text != "" && len(section.Rows) > 0 {
			b.WriteString("\n")
		}
		table(&b, section.Head, section.Rows)
	}
	if p.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", cell(p.Note))
	}
	return []byte(chart.Printable(b.String()))
}

// widestCell is the width up to which cells are aligned, so that one long message does not push the others
// away.
const widestCell = 40

func table(b *strings.Builder, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(head))
	all := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{head}, rows...) {
		cells := make([]string, len(head))
		for i := range cells {
			if i < len(row) {
				cells[i] = cell(row[i])
			}
			widths[i] = max(widths[i], min(widestCell, utf8.RuneCountInString(cells[i])))
		}
		all = append(all, cells)
	}
	for i, cells := range all {
		for k, text := range cells {
			b.WriteString("| " + text + strings.Repeat(" ", max(0, widths[k]-utf8.RuneCountInString(text))) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, width := range widths {
				b.WriteString("|" + strings.Repeat("-", width+2))
			}
			b.WriteString("|\n")
		}
	}
}

// plain escapes all characters with a meaning in Markdown.
var plain = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "<", "\\<", "|", "\\|", "~", "\\~", "&", "\\&", "](", "]\\(", "![", "\\!\\[", "\r", " ", "\n", " ")

// cell returns text on one line, escaped for Markdown.
func cell(text string) string { return strings.TrimSpace(plain.Replace(text)) }
