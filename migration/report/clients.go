package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Clients is the availability for clients of the application, as the probe has measured it.
type Clients struct {
	// URL is the requested URL.
	URL string `json:"url,omitempty"`
	// Text describes the result for the user.
	Text string `json:"text"`
	api.ClientRequests
	// Message is the last error of a request, or the reason why none was sent. FailureTime is when the last
	// failed request was sent.
	Message     string     `json:"message,omitempty"`
	FailureTime *time.Time `json:"failureTime,omitempty"`
	// Time is when the counts were taken.
	Time time.Time `json:"time"`
}

// ClientsOf returns the probe's result in the status of a migration; nil if there is none.
func ClientsOf(m *api.Migration) *Clients {
	p := m.Status.Probe
	if p == nil {
		return nil
	}
	c := &Clients{Text: ProbeText(*p), ClientRequests: p.ClientRequests, Message: p.Message, FailureTime: known(p.FailureTime), Time: p.Time.UTC()}
	if m.Spec.Probe != nil {
		c.URL = m.Spec.Probe.Asked()
	}
	return c
}

// ProbeText returns the result of a probe as text, such as "0 of 1,204 requests failed; p50 4 ms, p99 12 ms,
// longest 230 ms".
func ProbeText(p api.ProbeStatus) string {
	c := p.ClientRequests
	if c.Requests == 0 && p.Message != "" {
		return p.Message
	}
	text := FailedText(c)
	if c.OutageMilliseconds > 0 {
		text += ", for " + length(time.Duration(c.OutageMilliseconds)*time.Millisecond) + " in a row at most"
	}
	switch {
	case c.Requests > c.Failed && c.LongestMilliseconds > 0:
		text += fmt.Sprintf("; p50 %s ms, p99 %s ms, longest %s ms", grouped(c.P50Milliseconds), grouped(c.P99Milliseconds), grouped(c.LongestMilliseconds))
	case c.Requests > c.Failed && c.P99Milliseconds > 0: // Prometheus provides nothing else
		text += fmt.Sprintf("; p99 %s ms", grouped(c.P99Milliseconds))
	}
	switch {
	case p.Message != "" && !p.FailureTime.IsZero():
		text += "; the last failure, at " + moment(p.FailureTime.Time) + ": " + p.Message
	case p.Message != "":
		text += "; " + p.Message
	}
	return text
}

// FailedText returns the number of failed requests as text: "1 of 80 requests failed".
func FailedText(c api.ClientRequests) string {
	if c.Requests == 0 && c.Unanswered > 0 {
		return fmt.Sprintf("none of %s requests is answered yet", grouped(c.Unanswered))
	}
	text := fmt.Sprintf("%s of %s requests failed", grouped(c.Failed), grouped(c.Requests))
	if c.Unanswered > 0 {
		text += fmt.Sprintf(" (%s not answered yet)", grouped(c.Unanswered))
	}
	return text
}

// grouped formats a number with a comma between groups of three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}

// clients returns the cell of a handoff in the column Clients.
func (h Handoff) clients() string {
	if h.Clients == nil {
		return "not measured"
	}
	text := FailedText(*h.Clients)
	if out := h.Clients.OutageMilliseconds; out > 0 {
		text += ", for " + length(time.Duration(out)*time.Millisecond)
	}
	return text
}

// HandoffClients returns the text about clients for each handoff; nil if no requests were counted.
func (r Report) HandoffClients() []string {
	if !r.measured() {
		return nil
	}
	texts := make([]string, 0, len(r.Handoffs))
	for _, h := range r.Handoffs {
		texts = append(texts, h.clients())
	}
	return texts
}

// measured reports whether the requests of any handoff were counted.
func (r Report) measured() bool {
	for _, h := range r.Handoffs {
		if h.Clients != nil {
			return true
		}
	}
	return false
}
