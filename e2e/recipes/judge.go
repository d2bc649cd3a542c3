package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/sliceshift/sliceshift/e2e/auditor"
)

// write is a write that a client began, as recorded, with a unique value.
type write struct {
	Client string    `json:"client"`
	Value  string    `json:"value"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	// Acknowledged is false for a write that failed or was not answered; the value may be present or not.
	Acknowledged bool   `json:"acknowledged"`
	Error        string `json:"error,omitempty"`
}

// found holds the values of one member, or of all masters together, after all clients had ended.
type found struct {
	Member string   `json:"member"`
	Values []string `json:"values"`
}

// phase is a span of the run.
type phase struct {
	name        string
	from, until time.Time
}

// figure holds the measurements of a phase from the view of the clients.
type figure struct {
	phase        string
	seconds      float64
	acknowledged int
	// gap is the longest time without an acknowledged write of any client, clientGap the longest time between two
	// acknowledged writes of one worker of a client, in seconds.
	gap, clientGap float64
}

// result holds the results of a run.
type result struct {
	recipe                string
	acknowledged, unknown int
	// lost are acknowledged writes that a member lacks, strange are values that no client wrote.
	lost, strange []string
	figures       []figure
	audit         auditor.Report
}

// judge reads the records of the clients and the final values of the members.
func (r *run) judge(file func(name string) string) (result, error) {
	var all []write
	for _, c := range r.Pair.Both() {
		some, err := readWrites(file(clientName(c)))
		if err != nil {
			return result{}, err
		}
		all = append(all, some...)
	}
	text, err := os.ReadFile(file("final"))
	if err != nil {
		return result{}, err
	}
	var members []found
	if err := json.Unmarshal(text, &members); err != nil {
		return result{}, err
	}
	if len(all) == 0 || len(members) < 2 {
		return result{}, fmt.Errorf("%d writes and %d copies of them: there is nothing to judge", len(all), len(members))
	}
	return judge(r.recipe, all, members, r.phases), nil
}

func readWrites(path string) ([]write, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []write
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var w write
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(all)+1, err)
		}
		all = append(all, w)
	}
	return all, lines.Err()
}

// judge compares the acknowledged writes with the values of the members.
func judge(recipe string, all []write, members []found, phases []phase) result {
	r := result{recipe: recipe}
	begun := map[string]bool{}
	for _, w := range all {
		begun[w.Value] = true
		if w.Acknowledged {
			r.acknowledged++
		} else {
			r.unknown++
		}
	}
	for _, member := range members {
		has := map[string]bool{}
		for _, value := range member.Values {
			has[value] = true
			if !begun[value] {
				r.strange = append(r.strange, value+" on "+member.Member)
			}
		}
		for _, w := range all {
			if w.Acknowledged && !has[w.Value] {
				r.lost = append(r.lost, w.Value+" on "+member.Member)
			}
		}
	}
	for _, p := range phases {
		r.figures = append(r.figures, measure(all, p))
	}
	return r
}

// measure measures the writes that were acknowledged within a phase.
func measure(all []write, p phase) figure {
	f := figure{phase: p.name, seconds: p.until.Sub(p.from).Seconds()}
	var times []time.Time
	byClient := map[string][]time.Time{}
	for _, w := range all {
		if _, seen := byClient[w.Client]; !seen {
			byClient[w.Client] = nil // a worker without any answer has the longest gap
		}
		if w.Acknowledged && !w.End.Before(p.from) && w.End.Before(p.until) {
			times = append(times, w.End)
			byClient[w.Client] = append(byClient[w.Client], w.End)
		}
	}
	f.acknowledged, f.gap = len(times), gap(times, p)
	for _, own := range byClient {
		f.clientGap = max(f.clientGap, gap(own, p))
	}
	return f
}

// gap returns the longest time between two of these times, bounded by the phase's ends, in seconds.
func gap(times []time.Time, p phase) (longest float64) {
	slices.SortFunc(times, time.Time.Compare)
	last := p.from
	for _, at := range append(times, p.until) {
		longest, last = max(longest, at.Sub(last).Seconds()), at
	}
	return longest
}

// longest returns the longest time without an acknowledged write in any phase, in seconds.
func (r result) longest() (gap float64) {
	for _, f := range r.figures {
		gap = max(gap, f.gap)
	}
	return gap
}

// print prints the result.
func (r result) print(out io.Writer) {
	fmt.Fprintf(out, "\nrecipe %s: %d acknowledged writes, %d lost, %d values that nobody wrote, %d writes of unknown outcome\n",
		r.recipe, r.acknowledged, len(r.lost), len(r.strange), r.unknown)
	fmt.Fprintf(out, "longest interruption: %.2f s\n", r.longest())
	for _, f := range r.figures {
		fmt.Fprintf(out, "  %-22s %6.1f s  %6.1f writes/s  longest interruption %5.2f s, of one client %5.2f s\n",
			f.phase, f.seconds, float64(f.acknowledged)/f.seconds, f.gap, f.clientGap)
	}
	fmt.Fprintln(out, r.audit)
}

// verdict returns an error for everything that was lost or broken.
func (r result) verdict() error {
	var errs []error
	complain := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("recipe %s: "+format, append([]any{r.recipe}, args...)...))
	}
	if len(r.lost) > 0 {
		complain("%d acknowledged writes are lost, such as %s", len(r.lost), r.lost[0])
	}
	if len(r.strange) > 0 {
		complain("%d values are there that nobody wrote, such as %s", len(r.strange), r.strange[0])
	}
	for _, f := range r.figures {
		if f.acknowledged == 0 {
			complain("%s: no write was acknowledged", f.phase)
		}
	}
	if !r.audit.OK() {
		complain("the auditor does not agree")
	}
	return errors.Join(errs...)
}
