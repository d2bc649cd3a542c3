// Package explain explains the reasons in the status of Migrations, from the page of each reason.
package explain

import (
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/sliceshift/sliceshift/docs"
)

// folder is the URL of the pages.
const folder = "https://github.com/sliceshift/sliceshift/blob/main/docs/reasons/"

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

// Entries returns an entry for each reason, by name.
func Entries() []Entry {
	pages, err := fs.Glob(docs.Reasons, "reasons/*.md")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	all := make([]Entry, 0, len(pages))
	for _, page := range pages {
		text, err := docs.Reasons.ReadFile(page)
		if err != nil {
			panic(err) // the file is part of the program
		}
		all = append(all, entryOf(strings.TrimSuffix(path.Base(page), ".md"), string(text)))
	}
	return all
}

// point matches the beginning of a line that has a title.
var point = regexp.MustCompile(`^- \*\*(.+?):\*\* ?`)

func entryOf(reason, page string) Entry {
	e := Entry{Reason: reason, URL: folder + reason + ".md"}
	_, body, _ := strings.Cut(page, "\n")
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
	case "Why":
		return &e.Why
	case "Look":
		return &e.Look
	case "Fix":
		return &e.Remedy
	case "Continues alone":
		return &e.ByItself
	}
	return nil
}

// link matches a Markdown link.
var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// plain removes Markdown from a text. Commands keep their quotes.
func plain(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "**", "")
}
