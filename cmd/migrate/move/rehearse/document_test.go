package rehearse

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/view"
)

// rehearsed returns the document of a rehearsal that went well.
func rehearsed() Document {
	r := rehearsal.Result{
		Outcome: rehearsal.Rehearsed, Seconds: 12, Denied: []string{"10.0.0.1:443"}, CloneSeconds: 3, RestoreSeconds: 8,
		Origin: rehearsal.Origin{Pods: 3},
		Pods:   []rehearsal.Timing{{Pod: "web-0", Seconds: 12, Parts: []rehearsal.Part{{Name: "schedule", Seconds: 1}, {Name: "start", Seconds: 11}}}},
		Gates: []rehearsal.Gate{
			{Name: "up", Pod: "web-0", Verdict: rehearsal.GatePassed, Message: "port 80 answers"},
			{Name: "peers", Verdict: rehearsal.GateNotAsked, Message: "it waits for others"},
		},
	}
	return Document{
		Outcome: rehearsal.Rehearsed, Namespace: "rehearsal-web-1", Result: &r, Expected: view.OutageOf(r.Outage(), false),
		Source: Side{"east", "shop", "web"}, Destination: Side{"west", "shop", "web"},
	}
}

// TestText: the text has the isolation, each time, each gate, the expected downtime and the latency of the source.
func TestText(t *testing.T) {
	measured := rehearsed()
	measured.Latency = &Latency{
		Before: &api.ProbeStatus{ClientRequests: api.ClientRequests{Requests: 50, P50Milliseconds: 3, P99Milliseconds: 9, LongestMilliseconds: 9}},
		During: &api.ProbeStatus{ClientRequests: api.ClientRequests{Requests: 400, P50Milliseconds: 4, P99Milliseconds: 12, LongestMilliseconds: 20}},
	}
	copied, disturbed := rehearsed(), rehearsed()
	copied.Result.Copied, copied.Result.CloneSeconds = true, 61
	disturbed.Result.Origin.Disturbed = []string{"a container of pod web-1 was restarted", "pod web-2 was replaced"}
	kept := rehearsed()
	kept.Kept = true
	for name, tc := range map[string]struct {
		d    Document
		want []string
	}{
		"rehearsed": {rehearsed(), []string{
			"StatefulSet shop/web was rehearsed in cluster west; nothing of it is left", "a pod reached 10.0.0.1:443 without the NetworkPolicy", "snapshots ready after 3s, slowest restore 8s",
			"web-0     Ready after 12s: schedule 1s, start 11s", "up web-0: Passed port 80 answers", "peers: not asked, because it waits for others", "about 18s: stop 2s, detach 2s, carry 2s, start 12s, start rehearsed with 1 pod", "--probe URL",
			"source    3 pods, Ready all the time, none was restarted",
		}},
		"copied":    {copied, []string{"copied in 1m1s while their pods wrote", "the recovery was not"}},
		"disturbed": {disturbed, []string{"source    a container of pod web-1 was restarted; pod web-2 was replaced"}},
		"kept":      {kept, []string{"its objects are kept in namespace rehearsal-web-1"}},
		"measured":  {measured, []string{"before    of the source's clients, 0 of 50 requests failed; p50 3 ms, p99 9 ms", "during    of the source's clients, 0 of 400 requests failed; p50 4 ms, p99 12 ms"}},
		"no result": {Document{Outcome: rehearsal.Refused, Source: Side{"east", "shop", "web"}, Destination: Side{"west", "shop", "web"}}, []string{"The rehearsal of StatefulSet shop/web in cluster west has no result; nothing of it is left"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Printer(&out, terminal.Painter{})(tc.d); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in\n%s", want, out.String())
				}
			}
		})
	}
}

// TestExitCodes: a pipeline sees by the exit code how the rehearsal ended.
func TestExitCodes(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(nil)
	for outcome, want := range map[rehearsal.Outcome]int{
		rehearsal.Rehearsed: command.ExitDone, rehearsal.Refused: command.ExitStalled, rehearsal.Failed: command.ExitStalled, rehearsal.Interrupted: command.ExitFailure,
	} {
		err := Document{Outcome: outcome, Reason: "Reason", Message: "message", Remedy: "remedy"}.Err(ended)
		if got := command.ExitCode(err); got != want {
			t.Errorf("%s: %d (%v), want %d", outcome, got, err, want)
		}
	}
	late, end := context.WithCancelCause(t.Context())
	end(command.TimeoutError(1))
	if err := (Document{Outcome: rehearsal.Interrupted}).Err(late); command.ExitCode(err) != command.ExitTimeout || errors.Is(err, command.ErrInterrupted) {
		t.Errorf("timeout: %v", err)
	}
}
