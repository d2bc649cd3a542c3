package relay

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// patient is how many tries may fail before somebody is told: a mover listens some time after it was told its peer.
const patient = 6

// Trouble is why nothing gets through, once that has been tried for a while; empty: something does.
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

// works says that a link has brought its first answer.
func (r *Relay) works() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.links++
	r.failed, r.why = 0, ""
}

// worked says that such a link has ended.
func (r *Relay) worked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.links--
}

// carries says whether there is a link that has brought an answer.
func (r *Relay) carries() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.links > 0
}

// from is the own end of a connection in what Go says of it: another one at each try.
var from = regexp.MustCompile(`\S+:\d+->`)

// told is what clusters and kubelets say, for the end of a message: one line of at most 300 bytes, with nothing in it that is not
// printed, and the same at each try.
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
