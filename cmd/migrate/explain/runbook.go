// Package explain explains the reasons in the status of Migrations, from the entries of the runbook.
package explain

import (
	"regexp"
	"strings"

	"github.com/sliceshift/sliceshift/docs"
)

// page is the URL of the runbook.
const page = "https://github.com/sliceshift/sliceshift/blob/main/docs/runbook.md"

// Entry explains one reason.
type Entry struct {
	Reason string `json:"reason"`
	// Meaning states the meaning of the reason.
	Meaning string `json:"meaning"`
	// Why states why the reason stops, delays or endangers a move; empty if it does none of these.
	Why string `json:"why,omitempty"`
	// Look states where to look, and Remedy how to fix it; both are empty if no action is needed.
	Look   string `json:"look,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// ByItself states whether the move then continues without a command.
	ByItself string `json:"byItself,omitempty"`
	// More lists special cases.
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

// point matches the beginning of a line that has a title.
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

// add adds one part of an entry. A second part with the same title becomes a Case.
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

// part returns the field for a title, or nil if the title is a Case.
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

// link matches a Markdown link.
var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// plain removes Markdown from a text. Commands keep their quotes.
func plain(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "**", "")
}
