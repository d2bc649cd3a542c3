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

// write is one that a client began, as it recorded it: a value that nobody else ever writes.
type write struct {
	Client string    `json:"client"`
	Value  string    `json:"value"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	// Acknowledged is false for one that failed, or was not answered: it may be there or not.
	Acknowledged bool   `json:"acknowledged"`
	Error        string `json:"error,omitempty"`
}

// found is what one member had when all clients had ended, or all masters together.
type found struct {
	Member string   `json:"member"`
	Values []string `json:"values"`
}

// phase is a time of the run.
type phase struct {
	name        string
	from, until time.Time
}

// figure is what a phase was to the clients.
type figure struct {
	phase        string
	seconds      float64
	acknowledged int
	// gap is the longest time without an acknowledged write of any client, and clientGap the longest that any
	// one worker of a client had to wait for one of its own, in seconds.
	gap, clientGap float64
}

// result is what a run showed.
type result struct {
	recipe                string
	acknowledged, unknown int
	// lost are acknowledged writes that a member lacks, strange values that nobody wrote.
	lost, strange []string
	figures       []figure
	audit         auditor.Report
}

// judge reads what the clients recorded and what the members had in the end.
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

// judge compares what was acknowledged with what is there.
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

// measure looks at the writes that were acknowledged within a phase.
func measure(all []write, p phase) figure {
	f := figure{phase: p.name, seconds: p.until.Sub(p.from).Seconds()}
	var times []time.Time
	byClient := map[string][]time.Time{}
	for _, w := range all {
		if _, seen := byClient[w.Client]; !seen {
			byClient[w.Client] = nil // one that is never answered has the longest gap
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

// gap is the longest time without any of these, in seconds. The phase's ends bound it.
func gap(times []time.Time, p phase) (longest float64) {
	slices.SortFunc(times, time.Time.Compare)
	last := p.from
	for _, at := range append(times, p.until) {
		longest, last = max(longest, at.Sub(last).Seconds()), at
	}
	return longest
}

// longest is the longest time without an acknowledged write, in seconds, from the first phase to the last.
func (r result) longest() (gap float64) {
	for _, f := range r.figures {
		gap = max(gap, f.gap)
	}
	return gap
}

// print shows it to people.
func (r result) print(out io.Writer) {
	fmt.Fprintf(out, "\nrecipe %s: %d acknowledged writes, %d lost, %d values that no client wrote, %d writes of unknown outcome\n",
		r.recipe, r.acknowledged, len(r.lost), len(r.strange), r.unknown)
	fmt.Fprintf(out, "longest interruption: %.2f s\n", r.longest())
	for _, f := range r.figures {
		fmt.Fprintf(out, "  %-22s %6.1f s  %6.1f writes/s  longest interruption %5.2f s, of one client %5.2f s\n",
			f.phase, f.seconds, float64(f.acknowledged)/f.seconds, f.gap, f.clientGap)
	}
	fmt.Fprintln(out, r.audit)
}

// verdict is an error for what was lost or broken.
func (r result) verdict() error {
	var errs []error
	complain := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("recipe %s: "+format, append([]any{r.recipe}, args...)...))
	}
	if len(r.lost) > 0 {
		complain("%d acknowledged writes are lost, such as %s", len(r.lost), r.lost[0])
	}
	if len(r.strange) > 0 {
		complain("%d values exist that no client wrote, such as %s", len(r.strange), r.strange[0])
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
