package relay

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// patient is the number of attempts that may fail before the error is reported: a mover starts to listen some
// time after it has received its peer.
const patient = 6

// Trouble returns the reason why no data gets through after several attempts; empty if data does.
func (r *Relay) Trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed < patient {
		return ""
	}
	return r.why
}

func (r *Relay) fails(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed, r.why = r.failed+1, told(err.Error())
}

// works records that a link has delivered its first answer.
func (r *Relay) works() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.links++
	r.failed, r.why = 0, ""
}

// worked records that such a link has ended.
func (r *Relay) worked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.links--
}

// carries reports whether there is a link that has delivered an answer.
func (r *Relay) carries() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.links > 0
}

// from matches the local address of a connection in an error of Go, which differs for each attempt.
var from = regexp.MustCompile(`\S+:\d+->`)

// told returns a text of a cluster or kubelet for the end of a message: one printable line of at most 300
// bytes, the same for each attempt.
func told(text string) string {
	const most = 300
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Join(strings.Fields(strings.Map(printed, from.ReplaceAllString(line, ""))), " ")
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text = strings.Join(lines, "; ")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

func printed(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
