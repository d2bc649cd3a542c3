package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// failure is a failed test and its output.
type failure struct {
	Test string
	Said []string
}

const (
	mostRemarks = 12  // of one test: the last ones, because a test often logs before it fails
	mostLines   = 6   // of one remark, because a test may log long output of a program
	mostRunes   = 400 // of one line
)

// remarks holds the messages of one test from Log, Error and Fatal: lines that begin with a file name and line number,
// and the lines that follow.
type remarks struct {
	lines []string
	// begins holds where remarks begin in lines; left is how many more lines the last one may have.
	begins []int
	left   int
}

var remark = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: |^panic: `)

func (r *remarks) hear(output string) {
	line := strings.TrimRight(output, "\n")
	switch {
	case remark.MatchString(line):
		r.begins, r.left = append(r.begins, len(r.lines)), mostLines
	case strings.HasPrefix(strings.TrimLeft(line, " "), "---"), strings.HasPrefix(line, "==="):
		r.left = 0
	}
	if r.left == 0 {
		return
	}
	r.left--
	if runes := []rune(line); len(runes) > mostRunes {
		line = string(runes[:mostRunes]) + "..."
	}
	r.lines = append(r.lines, strings.TrimSpace(line))
	if len(r.begins) > mostRemarks {
		drop := r.begins[1]
		r.lines, r.begins = r.lines[drop:], r.begins[1:]
		for i := range r.begins {
			r.begins[i] -= drop
		}
	}
}

// printFailures prints each failed test with its output, because the log above the table is long.
func printFailures(out io.Writer, rows []row) {
	for _, r := range rows {
		for _, each := range r.Tested {
			for _, failed := range each.Failures {
				fmt.Fprintf(out, "FAILED %s.%s\n", strings.TrimPrefix(each.Package, module+"/"), failed.Test)
				for _, line := range failed.Said {
					fmt.Fprintf(out, "    %s\n", line)
				}
			}
		}
	}
}
