package figures

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Table is where a run that takes long writes what it has found, a line for each of its parts: hours are not lost with the process.
type Table struct {
	// Target is the make target.
	Target string
	// Head are the columns that say which part a line is of, and those of its numbers.
	Head, Numbers []string
	// Parts are how the lines begin, in their order: the cells of Head.
	Parts [][]string
	// Sentence sums up so many parts of all that were measured, whose numbers add up to sums.
	Sentence func(measured, all int, sums []int) string
}

// Line is what was found of a part: its numbers, and the commit that they were found at.
type Line struct {
	Numbers []int
	Commit  string
}

// begin is how the line of a part begins.
func begin(part []string) string { return "| " + strings.Join(part, " | ") + " |" }

// Found reads the lines that the text of a page has, by how they begin.
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

// read reads the cells of a line behind those that say which it is.
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

// Text is the table with what was found: a line for each part, measured or not.
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

// Current reports whether the text of a page has a line for each of the parts there are now, and no others.
func (a Table) Current(page string) bool { return strings.Contains(page, a.Text(a.Found(page))) }

// inTurn lets one part after the other write its line.
var inTurn sync.Mutex

// Write writes what was found of a part into Page, and leaves the other lines as they are.
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
