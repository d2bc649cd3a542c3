// Package explain explains the reasons that Migrations show, by the entries of the runbook.
package explain

import (
	"regexp"
	"strings"

	"github.com/sliceshift/sliceshift/docs"
)

// page is where the runbook is read.
const page = "https://github.com/sliceshift/sliceshift/blob/main/docs/runbook.md"

// Entry explains one reason.
type Entry struct {
	Reason string `json:"reason"`
	// Meaning is what the reason means.
	Meaning string `json:"meaning"`
	// Why is why it stops, delays or endangers a move; empty where it does not.
	Why string `json:"why,omitempty"`
	// Look is what to look at, and Remedy is what to do; empty: nothing is to do.
	Look   string `json:"look,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// ByItself is whether the move then continues without a command.
	ByItself string `json:"byItself,omitempty"`
	// More are special cases.
	More []Case `json:"more,omitempty"`
	URL  string `json:"url"`
}

// Case is a special case of a reason.
type Case struct {
	When string `json:"when"`
	Text string `json:"text"`
}

// Entries returns the entries of the runbook, in its order.
func Entries() []Entry {
	var all []Entry
	for _, text := range strings.Split(docs.Runbook, "\n### ")[1:] {
		text, _, _ = strings.Cut(text, "\n## ")
		reason, body, _ := strings.Cut(text, "\n")
		all = append(all, entryOf(strings.TrimSpace(reason), body))
	}
	return all
}

// point is the begin of a line of an entry that has a title.
var point = regexp.MustCompile(`^- \*\*(.+?):\*\* ?`)

func entryOf(reason, body string) Entry {
	e := Entry{Reason: reason, URL: page + "#" + strings.ToLower(reason)}
	title, text := "", ""
	for line := range strings.Lines(body + "\n\n") {
		line = strings.TrimSpace(line)
		begins := point.FindStringSubmatch(line)
		switch {
		case begins != nil:
			e.add(title, text)
			title, text = begins[1], line[len(begins[0]):]
		case line == "":
			e.add(title, text)
			title, text = "", ""
		default:
			text = strings.TrimSpace(text + " " + line)
		}
	}
	return e
}

// add takes one part of an entry. A second part of a kind is a case of its own.
func (e *Entry) add(title, text string) {
	if text == "" {
		return
	}
	text = plain(text)
	part := e.part(title)
	switch {
	case part != nil && *part == "":
		*part = text
	case part != nil && title == "":
		*part += "\n" + text
	default:
		e.More = append(e.More, Case{When: plain(title), Text: text})
	}
}

// part is where the text of a title belongs; nil: it is a case of its own.
func (e *Entry) part(title string) *string {
	switch title {
	case "":
		return &e.Meaning
	case "Look":
		return &e.Look
	case "Mend":
		return &e.Remedy
	case "By itself":
		return &e.ByItself
	}
	if strings.HasPrefix(title, "Why ") || title == "What it means" {
		return &e.Why
	}
	return nil
}

// link is one of a page.
var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// plain is text without the marks of a page. Commands keep their quotes.
func plain(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "**", "")
}
