package downtime

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestOutage: an outage is the one time in which no pod serves. Pods overlap at most in their objects.
func TestOutage(t *testing.T) {
	at := func(second int, uid types.UID, serves bool) sight {
		return sight{time.Unix(int64(second), 0), uid, serves}
	}
	for name, tc := range map[string]struct {
		sights []sight
		want   time.Duration
		notYet bool
		fails  bool
	}{
		"one pod after the other":        {[]sight{at(0, "a", true), at(3, "a", false), at(4, "a", false), at(5, "b", false), at(8, "b", true)}, 5 * time.Second, false, false},
		"the first is still terminating": {[]sight{at(0, "a", true), at(3, "a", false), at(8, "b", true), at(9, "a", false), at(10, "b", true)}, 5 * time.Second, false, false},
		"one that was not Ready first":   {[]sight{at(0, "a", false), at(1, "a", true), at(3, "a", false), at(4, "b", true)}, time.Second, false, false},
		"they serve together":            {[]sight{at(0, "a", true), at(3, "b", true), at(4, "a", false)}, 0, true, false},
		"none yet":                       {nil, 0, true, false},
		"not over":                       {[]sight{at(0, "a", true), at(3, "a", false), at(5, "b", false)}, 0, true, false},
		"twice":                          {[]sight{at(0, "a", true), at(3, "a", false), at(5, "b", true), at(6, "b", false), at(7, "b", true)}, 0, false, true},
	} {
		got, err := outage(tc.sights)
		if got != tc.want || errors.Is(err, errNotOver) != tc.notYet || (err != nil) != (tc.notYet || tc.fails) {
			t.Errorf("%s: %s and %v", name, got, err)
		}
	}
}

// TestTouch: the data change once, after the copies and before the stop. A stop without a change is an error.
func TestTouch(t *testing.T) {
	at := func(step api.Step) engine.Outcome { return engine.Outcome{Decision: plan.Decision{Step: step}} }
	for name, tc := range map[string]struct {
		steps []api.Step
		times int
		fails bool
	}{
		"a budget is reserved": {[]api.Step{api.StepGate, api.StepCopyAhead, api.StepReserveBudget, api.StepReserveBudget, api.StepSecureVolumes, api.StepScaleDown}, 1, false},
		"without a budget":     {[]api.Step{api.StepCopyAhead, api.StepSecureVolumes, api.StepScaleDown, api.StepAwaitRelease}, 1, false},
		"not stopped yet":      {[]api.Step{"", api.StepGate, api.StepCopyAhead}, 0, false},
		"stopped at once":      {[]api.Step{api.StepCopyAhead, api.StepScaleDown}, 0, true},
	} {
		times := 0
		touch, err := toucher{touch: func() error { times++; return nil }}, error(nil)
		for _, step := range tc.steps {
			err = errors.Join(err, touch.before(at(step)))
		}
		if times != tc.times || (err != nil) != tc.fails {
			t.Errorf("%s: %d times, %v", name, times, err)
		}
	}
}

// TestRecordedOutage: the recorded outage ends when the pod is Ready.
func TestRecordedOutage(t *testing.T) {
	at := func(second int64) metav1.MicroTime { return metav1.NewMicroTime(time.Unix(second, 0)) }
	past := api.PastHandoff{StopTime: at(1), ReadyTime: at(4), EndTime: at(30)}
	if got, err := recordedOutage(&api.History{Handoffs: []api.PastHandoff{past}}); got != 3*time.Second || err != nil {
		t.Errorf("%s and %v", got, err)
	}
	for name, history := range map[string]*api.History{
		"none": nil, "no handoff": {}, "two": {Handoffs: []api.PastHandoff{past, past}}, "no time": {Handoffs: []api.PastHandoff{{EndTime: at(30)}}},
	} {
		if _, err := recordedOutage(history); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// measured returns figures that reach all aims.
func measured() *figures {
	f := &figures{LargeMiB: usualLarge}
	for _, s := range scenes(usualLarge) {
		for _, attach := range attaches {
			f.take(s.name, attach, samples{ours: []float64{1.2, 1.3, 9}, restart: []float64{1, 1, 5}, script: []float64{4}, recorded: []float64{1.25, 1.3, 9.1}})
		}
	}
	return f
}

// TestFigures: each scene has its keys for each time, with medians, and the worst disagreement counts.
func TestFigures(t *testing.T) {
	f := measured()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	each := func(value float64) map[string]any { return map[string]any{"attach_0": value, "attach_2": value} }
	for _, name := range []string{"rebind", "copy_small", "copy_large", "snapshot"} {
		want := map[string]any{"seconds": each(1.3), "restart_floor": each(1), "script": each(4)}
		if diff := cmp.Diff(any(want), got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if f.Moves != 24 || f.Disagreement < 0.099 || f.Disagreement > 0.101 {
		t.Errorf("%d moves differ by %v", f.Moves, f.Disagreement)
	}
}

// TestAims: the aims are those for a restart plus some time. A missed aim is shown, and only a disagreement fails.
func TestAims(t *testing.T) {
	f := measured()
	missed := func() (aims []string, fails bool) {
		for _, row := range f.rows() {
			if row.Verdict == "MISSED" {
				aims = append(aims, row.Figure)
			}
		}
		return aims, !measure.Show(io.Discard, f.rows())
	}
	if aims, fails := missed(); len(aims) > 0 || fails {
		t.Errorf("missed: %v, fails: %t", aims, fails)
	}
	f.Rebind.Seconds.AtOnce, f.CopySmall.Seconds.AtOnce, f.CopyLarge.Seconds.TwoSeconds = 1.31, 1.81, 8.1
	aims, fails := missed()
	if len(aims) != 5 || fails || !strings.HasPrefix(aims[0], "Rebind, attach 0 s") { // two of them with their ratios to the script
		t.Errorf("missed: %q, fails: %t", aims, fails)
	}
	f.CopyLarge.Seconds.TwoSeconds = 8
	if aims, _ := missed(); len(aims) != 4 {
		t.Errorf("missed: %q", aims)
	}
	f.Disagreement = 0.51
	if _, fails := missed(); !fails {
		t.Error("a disagreement does not fail")
	}
	if part := (&figures{}).rows(); len(part) != 1 {
		t.Errorf("nothing was measured, and it shows %+v", part)
	}
}

// TestPage: the page has a line for each scene and time.
func TestPage(t *testing.T) {
	page := measured().page()
	for _, line := range []string{"| Rebind | 0 | 1.30 | 1.00 | 4.00 | 3.1 |\n", "| Copy, 2Gi of which 1 % was changed | 2 | 1.30 | 1.00 | 4.00 | 3.1 |\n", "24 Migrations recorded differ from these watches by at most 0.10 s"} {
		if !strings.Contains(page, line) {
			t.Errorf("no %q in:\n%s", line, page)
		}
	}
}

// TestData: the same data are written in each run, and one page of a hundred is changed.
func TestData(t *testing.T) {
	const size = 1600 << 10
	one, other := t.TempDir(), t.TempDir()
	read := func(folder string) []byte {
		content, err := os.ReadFile(filepath.Join(folder, dataFile))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for _, folder := range []string{one, other} {
		if err := fill(folder, size); err != nil {
			t.Fatal(err)
		}
	}
	before := read(one)
	if string(before) != string(read(other)) || len(before) != size {
		t.Errorf("%d bytes, and the other differs", len(before))
	}
	if err := (scene{size: size}).touch(one); err != nil || string(read(one)) != string(before) {
		t.Errorf("a scene without changes has changed: %v", err)
	}
	if err := (scene{size: size, changes: true}).touch(one); err != nil {
		t.Fatal(err)
	}
	pages, after := 0, read(one)
	for at := 0; at < size; at += page {
		if string(before[at:at+page]) != string(after[at:at+page]) {
			pages++
		}
	}
	if len(after) != size || pages == 0 || pages > size/page/changed {
		t.Errorf("%d bytes, %d pages changed", len(after), pages)
	}
}

// TestAnswer: the script goes on after its first copy once the data have changed, and an error of the change is an error.
func TestAnswer(t *testing.T) {
	for name, fails := range map[string]error{"": nil, "it fails": errors.New("no room")} {
		var in closer
		times := 0
		err := answer(strings.NewReader("something\ncopied once\nmore\n"), &in, func() error { times++; return fails })
		if times != 1 || in.String() != "\n" || !in.closed || !errors.Is(err, fails) {
			t.Errorf("%q: called %d times, wrote %q, closed %t, %v", name, times, in.String(), in.closed, err)
		}
	}
}

type closer struct {
	strings.Builder
	closed bool
}

func (c *closer) Close() error {
	c.closed = true
	return nil
}

// TestRounds: scenes that take long are played once, and names are valid for namespaces.
func TestRounds(t *testing.T) {
	for _, s := range scenes(usualLarge) {
		want := map[string]int{rebind: 3, copySmall: 3, copyLarge: 1, snapshot: 1}[s.name]
		if s.rounds(3, 0) != want || s.rounds(3, time.Second) != 1 {
			t.Errorf("%s: %d and %d rounds", s.name, s.rounds(3, 0), s.rounds(3, time.Second))
		}
		if got := (turn{scene: s, attach: attaches[1], round: 1}).namespace("ours"); strings.Contains(got, "_") || !strings.HasSuffix(got, "-2-1") {
			t.Errorf("namespace %s", got)
		}
	}
}
