package move

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/internal/records"
)

// taskOf returns a run with these flags that finds a record.
func taskOf(t *testing.T, recorded *api.Migration, args ...string) *task {
	t.Helper()
	var f flags.Spec
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	spec, err := f.Spec("web", flags.Destination{Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	asked := &api.Migration{Spec: spec}
	asked.Annotations = map[string]string{records.DestinationAnnotationKey: "cluster-2", records.DestinationNameAnnotationKey: "west"}
	return &task{
		source: movetest.Offline(t, "east"), destination: movetest.Offline(t, "west"), requested: asked, recorded: recorded, spec: &f, back: "migrate rollback web -n shop --context east",
		store: records.ConfigMap{Namespace: "shop", Name: "web"},
	}
}

// recordOf returns a record as an earlier run left it.
func recordOf(m *api.Migration, args ...string) func(*testing.T) *api.Migration {
	return func(t *testing.T) *api.Migration {
		t.Helper()
		earlier := taskOf(t, nil, args...).requested
		m = m.DeepCopy()
		m.Spec, m.Annotations = earlier.Spec, earlier.Annotations
		return m
	}
}

func TestResolve(t *testing.T) {
	byCopy := movetest.InFlight()
	byCopy.Status.Baseline.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
	named := movetest.InFlight()
	named.Status.Baseline.Services = &api.ServicesSpec{PerOrdinal: api.PerOrdinalExport}
	unbegun := movetest.Moving(0, 4)
	unbegun.Status = api.MigrationStatus{}
	for name, tc := range map[string]struct {
		recorded func(*testing.T) *api.Migration
		args     []string
		want     preview.Standing
		wantErr  string
	}{
		"not begun":                {recorded: recordOf(unbegun), args: []string{"--count", "2"}, want: preview.Beginning},
		"under way":                {recorded: recordOf(movetest.InFlight(), "--count", "4"), want: preview.Underway},
		"under way, said again":    {recorded: recordOf(movetest.InFlight(), "--count", "4"), args: []string{"--count", "4"}, want: preview.Underway},
		"under way, other count":   {recorded: recordOf(movetest.InFlight()), args: []string{"--count", "2"}, wantErr: "count: recorded all, asked for 2"},
		"under way, other classes": {recorded: recordOf(movetest.InFlight(), "--storage-class", "a=b"), args: []string{"--storage-class", "a=c"}, wantErr: "storage classes: recorded a=b, asked for a=c"},
		"under way, other budget":  {recorded: recordOf(movetest.InFlight()), args: []string{"--max-unavailable", "2"}, wantErr: "recorded the PodDisruptionBudget's, asked for 2"},
		"under way, other method":  {recorded: recordOf(byCopy, "--volume", "data=copy"), args: []string{"--volume", "data=rebind"}, wantErr: "methods of volumes: recorded data=copy, asked for rebind"},
		"under way, other modes":   {recorded: recordOf(movetest.InFlight(), "--access-modes", "a=ReadWriteOnce+ReadOnlyMany"), args: []string{"--access-modes", "a=ReadWriteMany"}, wantErr: "access modes: recorded a=ReadWriteOnce+ReadOnlyMany, asked for a=ReadWriteMany"},
		"under way, shared paths":  {recorded: recordOf(movetest.InFlight()), args: []string{"--shared", "a,b"}, wantErr: "shared paths: recorded none, asked for a,b"},
		"under way, other order":   {recorded: recordOf(movetest.InFlight()), args: []string{"--order", "lowest-first"}, wantErr: "order: recorded HighestFirst, asked for LowestFirst"},
		"under way, other kind":    {recorded: recordOf(movetest.InFlight()), args: []string{"--to-api-version", "apps/v1"}, wantErr: "to-api-version: recorded , asked for apps/v1"},
		"under way, an edited one": {recorded: recordOf(byCopy), args: []string{"--volume", "data=rebind"}, wantErr: "methods of volumes: recorded data=copy, asked for rebind"},
		"under way, put back":      {recorded: recordOf(byCopy), args: []string{"--volume", "data=copy"}, want: preview.Underway},
		"under way, exports":       {recorded: recordOf(movetest.InFlight()), args: []string{"--export-services"}, wantErr: "export-services: recorded false, asked for true"},
		"under way, no names":      {recorded: recordOf(named), args: []string{"--export-ordinals=false"}, wantErr: "export-ordinals: recorded Export, asked for None"},
		"under way, named again":   {recorded: recordOf(named), args: []string{"--export-ordinals"}, want: preview.Underway},
		"rolled back":              {recorded: recordOf(movetest.RolledBack()), args: []string{"--count", "1"}, want: preview.Beginning},
	} {
		t.Run(name, func(t *testing.T) {
			_, stands, err := taskOf(t, tc.recorded(t), tc.args...).resolve(t.Context())
			switch {
			case tc.wantErr != "":
				if err == nil || command.ExitCode(err) != command.ExitStalled || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("error %v, want %q", err, tc.wantErr)
				}
			case err != nil:
				t.Error(err)
			case stands != tc.want:
				t.Errorf("stands %q, want %q", stands, tc.want)
			}
		})
	}
}

// TestWindowsAreChanged: the windows of a run may be changed during the move, all of them together.
func TestWindowsAreChanged(t *testing.T) {
	recorded := recordOf(movetest.InFlight(), "--window", "22:00/4h", "--time-zone", "Europe/Berlin")(t)
	for name, tc := range map[string]struct {
		args []string
		want *api.ScheduleSpec
	}{
		"not said":   {nil, recorded.Spec.Schedule},
		"others":     {[]string{"--window", "12:00/1h"}, &api.ScheduleSpec{Windows: []api.Window{{From: "12:00", Duration: metav1.Duration{Duration: time.Hour}}}}},
		"none":       {[]string{"--window", ""}, &api.ScheduleSpec{}},
		"from where": {[]string{"--time-zone", "Asia/Tokyo"}, &api.ScheduleSpec{TimeZone: "Asia/Tokyo"}},
	} {
		m, _, err := taskOf(t, recorded, tc.args...).resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, m.Spec.Schedule); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestGoOn: the recorded settings apply, except those that may change during a move.
func TestGoOn(t *testing.T) {
	m, _, err := taskOf(t, recordOf(movetest.InFlight(), "--min-ready", "5s", "--count", "4")(t), "--deadline", "1h", "--cleanup", "delete").resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := recordOf(movetest.InFlight(), "--min-ready", "5s", "--count", "4", "--deadline", "1h", "--cleanup", "delete")(t)
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("migration (-want +got):\n%s", diff)
	}
}

// TestBeginAnew: a run that was rolled back begins again with the current flags, and its epoch continues to count.
func TestBeginAnew(t *testing.T) {
	m, _, err := taskOf(t, recordOf(movetest.RolledBack(), "--count", "4")(t), "--count", "1").resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := recordOf(movetest.Moving(0, 4), "--count", "1")(t)
	want.Status = api.MigrationStatus{Fence: want.Status.Fence}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("migration (-want +got):\n%s", diff)
	}
}

// TestAnotherDestination: a mistyped context must not start an ordinal in a second cluster while it runs in the first
// (I1).
func TestAnotherDestination(t *testing.T) {
	for name, tc := range map[string]struct {
		id, name string
		want     []string
	}{
		"the same":                   {"cluster-2", "west", nil},
		"the same, called otherwise": {"cluster-2", "w", nil},
		"another":                    {"cluster-3", "north", []string{"destination cluster: recorded north, asked for west"}},
		"another of that name":       {"cluster-3", "west", []string{"destination cluster: recorded west (another one of that name), asked for west"}},
		"nobody knows":               {"", "", []string{"destination cluster: recorded (another one of that name), asked for west"}},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := recordOf(movetest.InFlight())(t)
			recorded.Annotations = map[string]string{records.DestinationAnnotationKey: tc.id, records.DestinationNameAnnotationKey: tc.name}
			if diff := cmp.Diff(tc.want, taskOf(t, recorded).differences()); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWordInMidMove: a setting can be added during a move, but a method cannot be changed.
func TestWordInMidMove(t *testing.T) {
	have := []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty}, {ClaimTemplate: "wal", Method: api.MethodRebind}}
	word := api.EmptySpec{FillsFromPeers: true, ReturnsToKept: true}
	say(have, []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty, Empty: word}, {ClaimTemplate: "wal", Method: api.MethodEmpty, Empty: word}})
	want := []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty, Empty: word}, {ClaimTemplate: "wal", Method: api.MethodRebind}}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	have[0].Empty = api.EmptySpec{}
	want[0].Empty = api.EmptySpec{ReturnsToKept: true}
	if diff := cmp.Diff(want, returning(have)); diff != "" {
		t.Errorf("on the way back (-want +got):\n%s", diff)
	}
}

// TestRestore: changed methods and classes are restored to the accepted values, and nothing else changes.
func TestRestore(t *testing.T) {
	class := "fast"
	copied := api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "mover"}}
	empty := api.VolumeSpec{ClaimTemplate: "cache", Method: api.MethodEmpty, Empty: api.EmptySpec{FillsFromPeers: true}}
	accepted := []api.VolumeSpec{empty, copied, {ClaimTemplate: "logs", Method: api.MethodRebind}}
	for name, tc := range map[string]struct{ asked, want []api.VolumeSpec }{
		"as it was accepted":    {[]api.VolumeSpec{copied, empty}, []api.VolumeSpec{copied, empty}},
		"another method":        {[]api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind}, empty}, []api.VolumeSpec{empty, copied}},
		"a template is dropped": {[]api.VolumeSpec{copied}, []api.VolumeSpec{copied, empty}},
		"another class":         {[]api.VolumeSpec{copied, empty, {ClaimTemplate: "logs", StorageClassName: &class}}, []api.VolumeSpec{copied, empty, {ClaimTemplate: "logs", Method: api.MethodRebind}}},
	} {
		m := &api.Migration{}
		m.Spec.Volumes, m.Status.Baseline = tc.asked, &api.Baseline{Volumes: accepted}
		restore(m)
		if diff := cmp.Diff(tc.want, m.Spec.Volumes); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestServicesArePutBack: changed services are restored when the accepted ones are requested.
func TestServicesArePutBack(t *testing.T) {
	accepted := api.ServicesSpec{PerOrdinal: api.PerOrdinalExport}
	for name, tc := range map[string]struct {
		args []string
		want api.ServicesSpec
	}{
		"it is not asked for": {nil, api.ServicesSpec{Export: true}},
		"the names are":       {[]string{"--export-ordinals"}, accepted},
		"the export is not":   {[]string{"--export-services=false"}, accepted},
	} {
		recorded := recordOf(movetest.InFlight(), "--export-services")(t)
		recorded.Status.Baseline.Services = &accepted
		m, _, err := taskOf(t, recorded, tc.args...).resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, m.Spec.Services); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
