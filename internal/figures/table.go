package figures

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Table is a table in Page to which a long run writes its results, a line for each part, so that an aborted run loses
// little.
type Table struct {
	// Target is the make target.
	Target string
	// Head are the titles of the columns that identify a part, Numbers those of its numbers.
	Head, Numbers []string
	// Parts are the cells of Head for each line, in order.
	Parts [][]string
	// Sentence returns the summary: the number of measured parts of all, and the sums of their numbers.
	Sentence func(measured, all int, sums []int) string
}

// Line is the result of a part: its numbers, and the commit that was measured.
type Line struct {
	Numbers []int
	Commit  string
}

// begin returns the start of a part's line.
func begin(part []string) string { return "| " + strings.Join(part, " | ") + " |" }

// Found returns the lines in the text of a page, by their start.
func (a Table) Found(page string) map[string]Line {
	found := map[string]Line{}
	_, rest, _ := strings.Cut(page, "<!-- figures: written by make "+a.Target+" -->\n")
	lines, _, _ := strings.Cut(rest, "<!-- end of figures")
	for text := range strings.Lines(lines) {
		for _, part := range a.Parts {
			cells, ours := strings.CutPrefix(strings.TrimSpace(text), begin(part))
			if line, is := a.read(strings.Split(strings.Trim(cells, " |"), " | ")); ours && is {
				found[begin(part)] = line
			}
		}
	}
	return found
}

// read parses the cells after the start of a line.
func (a Table) read(cells []string) (line Line, is bool) {
	if len(cells) != len(a.Numbers)+1 {
		return line, false
	}
	for _, cell := range cells[:len(a.Numbers)] {
		n, err := strconv.Atoi(cell)
		if err != nil {
			return line, false
		}
		line.Numbers = append(line.Numbers, n)
	}
	line.Commit = cells[len(a.Numbers)]
	return line, true
}

// Text returns the table with the found lines, and a line for each part that is not measured yet.
func (a Table) Text(found map[string]Line) string {
	var lines strings.Builder
	sums, measured := make([]int, len(a.Numbers)), 0
	for _, part := range a.Parts {
		lines.WriteString(begin(part))
		line, is := found[begin(part)]
		if !is {
			lines.WriteString(" not measured yet" + strings.Repeat(" |", len(a.Numbers)+1) + "\n")
			continue
		}
		measured++
		for i, n := range line.Numbers {
			sums[i] += n
			fmt.Fprintf(&lines, " %d |", n)
		}
		lines.WriteString(" " + line.Commit + " |\n")
	}
	columns := append(append(append([]string{}, a.Head...), a.Numbers...), "commit")
	return fmt.Sprintf("%s Each line was found at its own commit.\n\n%s\n%s|\n%s",
		a.Sentence(measured, len(a.Parts), sums), begin(columns), strings.Repeat("|---", len(columns)), lines.String())
}

// Current reports whether the text of a page has exactly a line for each current part.
func (a Table) Current(page string) bool { return strings.Contains(page, a.Text(a.Found(page))) }

// inTurn serializes the writes of the parts.
var inTurn sync.Mutex

// Write writes the result of a part into Page, and keeps the other lines.
func (a Table) Write(part []string, numbers ...int) error {
	inTurn.Lock()
	defer inTurn.Unlock()
	page, err := Read()
	if err != nil {
		return err
	}
	found := a.Found(page)
	found[begin(part)] = Line{numbers, Commit()}
	return Write(a.Target, a.Text(found))
}
