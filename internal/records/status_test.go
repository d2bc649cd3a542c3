package records_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
)

// definition is an API server that stores one Migration as text, without the status fields that its definition lacks.
type definition struct {
	t      *testing.T
	stored map[string]any
	lacks  []string
	writes int
	// refuses is its answer to every write. nil means that it accepts them.
	refuses error
}

func (d *definition) resource() records.Resource {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		d.t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: d.patch}).Build()
	return records.Resource{Client: c, Namespace: "shop", Name: "web"}
}

func (d *definition) patch(_ context.Context, _ client.Client, _ string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	if d.refuses != nil {
		return d.refuses
	}
	sent := d.read(data)
	metadata := sent["metadata"].(map[string]any)
	if metadata["resourceVersion"] != "1" && d.writes == 0 {
		return apierrors.NewConflict(api.GroupVersion.WithResource("migrations").GroupResource(), "web", errors.New("modified"))
	}
	after := merged(d.stored, sent)
	for _, path := range d.lacks {
		drop(after, append([]string{"status"}, strings.Split(path, ".")...))
	}
	after["metadata"] = map[string]any{"namespace": "shop", "name": "web", "uid": "m", "resourceVersion": "2"}
	if asked := (&client.SubResourcePatchOptions{}).ApplyOptions(options); len(asked.DryRun) == 0 {
		d.stored = after
		d.writes++
	}
	text, err := json.Marshal(after)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, o)
}

func (d *definition) read(text []byte) map[string]any {
	d.t.Helper()
	found := map[string]any{}
	if err := json.Unmarshal(text, &found); err != nil {
		d.t.Fatal(err)
	}
	return found
}

// has sets the stored status.
func (d *definition) has(status string) { d.stored = map[string]any{"status": d.read([]byte(status))} }

// merged applies a merge patch (RFC 7386).
func merged(target, patch map[string]any) map[string]any {
	after := maps.Clone(target)
	if after == nil {
		after = map[string]any{}
	}
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(after, name)
		case map[string]any:
			was, _ := after[name].(map[string]any)
			after[name] = merged(was, value)
		default:
			after[name] = value
		}
	}
	return after
}

func drop(from map[string]any, path []string) {
	below, more := from[path[0]].(map[string]any)
	list, lists := from[path[0]].([]any)
	switch {
	case len(path) == 1:
		delete(from, path[0])
	case more:
		drop(below, path[1:])
	case lists:
		for _, item := range list {
			drop(item.(map[string]any), path[1:])
		}
	}
}

// moving returns a migration whose status has all fields that decisions depend on.
func moving() *api.Migration {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC))
	exact := metav1.NewMicroTime(now.Time)
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "m", ResourceVersion: "1"}}
	m.Status = api.MigrationStatus{
		Baseline:          &api.Baseline{Replicas: 3, Budget: 1, SourceUID: "s", BudgetsTakenTime: &now, StartTime: now, DisruptionBudget: &api.DisruptionBudget{Name: "web"}, Services: &api.ServicesSpec{PerOrdinal: api.PerOrdinalNone}},
		Fence:             &api.Fence{Epoch: 1 << 50, Holder: "h", Direction: api.Forward},
		Handoff:           &api.Handoff{Ordinal: 2, StartTime: exact, Attempts: 1, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv", Disk: "d"}}},
		Ahead:             []api.CopyAhead{{Ordinal: 1}},
		TurnedBack:        &api.CopyTurnedBack{Ordinal: 2, ClaimTemplate: "data", Limit: metav1.Duration{Duration: time.Minute}, Time: now},
		AutomaticRollback: &api.AutomaticRollback{Reason: api.ReasonGateFailed, By: "gate db", Message: "it has failed", Time: exact},
		Hooks:             []api.HookRun{{Name: "leave", Point: api.HookBeforeOrdinal, State: api.HookRunning, Job: "j"}},
		HookTurns:         1, LastAttempt: 7, PausedWriters: []api.PausedWriter{{}}, Moved: 1, Total: 3,
	}
	return m
}

// TestSaveKeepsWhatItDoesNotKnow: fields of a newer version survive a write of an older one, and are deleted with the object
// that contains them.
func TestSaveKeepsWhatItDoesNotKnow(t *testing.T) {
	d := &definition{t: t}
	d.has(`{"newer":1,"baseline":{"newer":2,"destinationReplicas":1},"handoff":{"ordinal":2,"newer":3}}`)
	m := moving()
	m.Status.Handoff = nil
	if err := d.resource().Save(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	status := d.stored["status"].(map[string]any)
	baseline := status["baseline"].(map[string]any)
	if status["newer"] != 1.0 || baseline["newer"] != 2.0 {
		t.Errorf("what it does not know is gone: %v", status)
	}
	if status["handoff"] != nil || baseline["destinationReplicas"] != nil || baseline["replicas"] != 3.0 {
		t.Errorf("what it knows is not as it was sent: %v", status)
	}
}

// TestSaveIsWhole: for any former status, all fields that this version knows are stored and read back as sent.
func TestSaveIsWhole(t *testing.T) {
	full, bare := moving(), &api.Migration{ObjectMeta: moving().ObjectMeta}
	bare.Status.Baseline, bare.Status.Handoff = &api.Baseline{StartTime: full.Status.Baseline.StartTime}, &api.Handoff{StartTime: full.Status.Handoff.StartTime}
	empty := &api.Migration{ObjectMeta: moving().ObjectMeta}
	d := &definition{t: t}
	for i, want := range []*api.Migration{full, bare, full, empty, bare, empty} {
		m := want.DeepCopy()
		if err := d.resource().Save(t.Context(), m); err != nil {
			t.Fatal(i, err)
		}
		text, _ := json.Marshal(want.Status)
		if diff := cmp.Diff(d.read(text), d.stored["status"]); diff != "" || m.ResourceVersion != "2" {
			t.Errorf("%d, version %s: %s", i, m.ResourceVersion, diff)
		}
	}
}

// TestNotStored: a dropped field that decisions depend on is named, and other dropped fields are no error.
func TestNotStored(t *testing.T) {
	for lacks, want := range map[string][]string{
		"":                               nil,
		"history":                        nil,
		"moved":                          nil,
		"baseline":                       {"status.baseline"},
		"baseline.budgetsTakenTime":      {"status.baseline.budgetsTakenTime"},
		"baseline.services":              {"status.baseline.services"},
		"baseline.services.perOrdinal":   {"status.baseline.services.perOrdinal"},
		"baseline.disruptionBudget.name": {"status.baseline.disruptionBudget.name"},
		"fence.direction":                {"status.fence.direction"},
		"handoff.volumes":                {"status.handoff.volumes"},
		"handoff.volumes.disk":           {"status.handoff.volumes[0].disk"},
		"ahead":                          {"status.ahead"},
		"turnedBack":                     {"status.turnedBack"},
		"hooks.state":                    {"status.hooks[0].state"},
		"hookTurns":                      {"status.hookTurns"},
		"pausedWriters":                  {"status.pausedWriters"},
	} {
		t.Run(lacks, func(t *testing.T) {
			d := &definition{t: t}
			if lacks != "" {
				d.lacks = []string{lacks}
			}
			m := moving()
			for what, err := range map[string]error{"tried": d.resource().Stores(t.Context(), m), "saved": d.resource().Save(t.Context(), m.DeepCopy())} {
				lost, is := errors.AsType[*records.NotStoredError](err)
				if is != (want != nil) || is && !slices.Equal(lost.Fields, want) {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
			}
			if d.writes != 1 {
				t.Errorf("%d writes: one was to be tried only", d.writes)
			}
			if m = moving(); d.resource().Save(t.Context(), m) != nil && m.ResourceVersion != "2" {
				t.Errorf("it was written, and the version is %s", m.ResourceVersion)
			}
		})
	}
}

// TestNotStoredNamesAFew: an error names only the first fields.
func TestNotStoredNamesAFew(t *testing.T) {
	d := &definition{t: t, lacks: []string{"baseline", "fence", "handoff", "ahead", "hooks"}}
	const want = "not stored: status.baseline, status.fence, status.handoff, status.ahead"
	if err := d.resource().Save(t.Context(), moving()); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestSaveMeetsAChange: a status is written only over the version that was read.
func TestSaveMeetsAChange(t *testing.T) {
	d := &definition{t: t}
	m := moving()
	m.ResourceVersion = "0"
	if err := d.resource().Save(t.Context(), m); !apierrors.IsConflict(err) || m.ResourceVersion != "0" || d.writes > 0 {
		t.Errorf("got %v, version %s", err, m.ResourceVersion)
	}
}

// TestStatusRefused: an invalid status was not stored, and its error contains the API server's answer. Other errors are not
// a NotStoredError.
func TestStatusRefused(t *testing.T) {
	kind := api.GroupVersion.WithKind("Migration").GroupKind()
	for name, tc := range map[string]struct {
		refuses error
		stored  bool
	}{
		"invalid":  {apierrors.NewInvalid(kind, "web", nil), true},
		"a policy": {apierrors.NewForbidden(api.GroupVersion.WithResource("migrations").GroupResource(), "web", errors.New("no")), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "m", ResourceVersion: "1"}}
			r := (&definition{t: t, refuses: tc.refuses}).resource()
			for _, err := range []error{r.Save(t.Context(), m), r.Stores(t.Context(), m)} {
				lost, is := errors.AsType[*records.NotStoredError](err)
				if is != tc.stored || is && lost.Refused == nil || apierrors.ReasonForError(err) != apierrors.ReasonForError(tc.refuses) || m.ResourceVersion != "1" {
					t.Errorf("got %v, resourceVersion %s", err, m.ResourceVersion)
				}
			}
		})
	}
}
