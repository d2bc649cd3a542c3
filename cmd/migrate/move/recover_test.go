package move

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestRecoverARun (G15): the destination does not answer, and in one case its context is not in the kubeconfig any more.
// This process drives the move until every ordinal is back on its disk.
func TestRecoverARun(t *testing.T) {
	for name, completed := range map[string]bool{"in mid-move": false, "after the end": true} {
		t.Run(name, func(t *testing.T) {
			m, objects := left(completed)
			if completed {
				m.Annotations[records.DestinationNameAnnotationKey] = "gone"
			}
			east := apitest.Serve(t, servedToMove(), append(objects, recorded(t, m))...)
			go controllers(t.Context(), east)
			c := newConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-west", "--nothing-moved-on", "--kubeconfig", east.Kubeconfig(t))
			// The command waits a while for a write that the server's watch has not reported.
			if got := c.PassTime(t, c.Begin(t), 100*time.Millisecond); got != command.ExitDone {
				t.Fatalf("exit code %d\n%s%s", got, c.Stdout, c.Stderr)
			}
			set := &appsv1.StatefulSet{}
			if err := east.Store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, set); err != nil || *set.Spec.Replicas != 3 || len(set.Annotations) > 0 {
				t.Errorf("the source has %d replicas, annotations %v: %v", *set.Spec.Replicas, set.Annotations, err)
			}
			for _, want := range []string{"recovered: every ordinal runs at the source", "parked", "disk.example/disk-data-web-2", "(UID cluster-west)"} {
				if !strings.Contains(c.Stdout.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, c.Stdout)
				}
			}
		})
	}
}

// TestRecoverAsks (G15): nothing is written without the correct confirmation by the user.
func TestRecoverAsks(t *testing.T) {
	notBegun, _ := left(false)
	notBegun.Status.Baseline = nil
	over := movetest.RolledBack()
	moved, _ := left(true)
	for name, tc := range map[string]struct {
		args    []string
		record  *api.Migration
		types   string
		want    int
		wantErr string
		changed bool
	}{
		"nobody is there to be asked":  {want: 2, wantErr: "--destination-is-off=cluster-west"},
		"the wrong cluster":            {args: []string{"--destination-is-off=cluster-east"}, want: 2, wantErr: "has the UID cluster-west"},
		"the wrong words":              {types: "yes\n", want: 1, wantErr: "nothing has been changed"},
		"no words":                     {types: "\n", want: 1, wantErr: "nothing has been changed"},
		"the words":                    {types: "west is off\n", args: []string{"--timeout", "6s"}, want: 4, changed: true},
		"moved, and half of the words": {record: moved, types: "west is off\n", want: 1, wantErr: "nothing has been changed"},
		"moved, and the words":         {record: moved, types: "west is off, and nothing was moved on\n", args: []string{"--timeout", "6s"}, want: 4, changed: true},
		"moved, and nobody is there":   {record: moved, args: []string{"--destination-is-off=cluster-west"}, want: 2, wantErr: "--nothing-moved-on"},
		"moved, and half of the flags": {record: moved, args: []string{"--nothing-moved-on"}, want: 2, wantErr: "--nothing-moved-on --destination-is-off=cluster-west"},
		"a dry run":                    {args: []string{"--dry-run"}},
		"a dry run in YAML":            {args: []string{"--dry-run", "-o", "yaml"}},
		"a format without a dry run":   {args: []string{"-o", "json"}, want: 2, wantErr: "-o json is for --dry-run"},
		"not begun":                    {record: notBegun, want: 3, wantErr: api.ReasonNothingToRecover},
		"back already":                 {record: over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, objects := left(false)
			if tc.record != nil {
				m = tc.record
			}
			east := apitest.Serve(t, servedToMove(), append(objects, recorded(t, m))...)
			c := newConsole(append([]string{"recover", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t)}, tc.args...)...)
			if tc.types != "" {
				c.In, c.Interactive = strings.NewReader(tc.types), func() bool { return true }
			}
			if got := c.Run(t); got != tc.want || !strings.Contains(c.Stderr.String(), tc.wantErr) {
				t.Errorf("exit code %d, want %d\n%s%s", got, tc.want, c.Stdout, c.Stderr)
			}
			if wrote := east.Wrote(); len(wrote) > 0 != tc.changed {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

// TestRecoverWhatAnswers (G15): recovery is refused if the destination answers and has pods of the application, even
// with confirmation.
func TestRecoverWhatAnswers(t *testing.T) {
	m, objects := left(false)
	m.Status.Baseline.DestinationCluster = "cluster-east" // both contexts use one server here
	m.Annotations[records.DestinationNameAnnotationKey] = "east"
	m.Spec.Destination.Name = "web"
	m.Status.Baseline.SourceCluster = "cluster-east"
	east := apitest.Serve(t, servedToMove(), append(objects, recorded(t, m))...)
	c := newConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-east", "--kubeconfig", east.Kubeconfig(t))
	if got := c.Run(t); got != command.ExitStalled || !strings.Contains(c.Stderr.String(), "it is not off") {
		t.Errorf("exit code %d: %s", got, c.Stderr)
	}
	if wrote := east.Wrote(); len(wrote) > 0 {
		t.Errorf("it wrote %v", wrote)
	}
}

// TestRecoverWhatWasMovedOn: recovery is refused if a Migration or the record of a run shows that ordinals were moved on
// from the destination, even with confirmation (I1).
func TestRecoverWhatWasMovedOn(t *testing.T) {
	on, _ := left(true)
	on.Name, on.Annotations, on.ResourceVersion, on.UID = "on", nil, "", "on"
	on.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "north"}
	on.Status.Baseline.SourceCluster, on.Status.Baseline.DestinationCluster = "cluster-west", "cluster-north"
	run := recorded(t, on)
	run.Name, run.UID, run.Labels[records.LabelKey] = "sliceshift-on", "on", "on"
	for name, tc := range map[string]struct {
		other client.Object
		want  string
	}{
		"a Migration": {on, "Migration shop/on in cluster"},
		"a run":       {run, "(ConfigMap shop/sliceshift-on)"},
	} {
		t.Run(name, func(t *testing.T) {
			m, objects := left(true)
			east := apitest.Serve(t, servedToMove(api.GroupVersion), append(objects, recorded(t, m), tc.other)...)
			c := newConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-west", "--nothing-moved-on", "--kubeconfig", east.Kubeconfig(t))
			if got := c.Run(t); got != command.ExitStalled || !strings.Contains(c.Stderr.String(), api.ReasonMovedOn) || !strings.Contains(c.Stderr.String(), tc.want) {
				t.Errorf("exit code %d\n%s%s", got, c.Stdout, c.Stderr)
			}
			if wrote := east.Wrote(); len(wrote) > 0 {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

// TestRecoverByHand: recovery is also refused if ordinals were moved on from the destination and a user has set mode
// Recover in the record with an editor. The driver makes the same check as the command (I1).
func TestRecoverByHand(t *testing.T) {
	on, _ := left(true)
	on.Name, on.Annotations, on.UID = "on", nil, "on"
	on.Status.Baseline.SourceCluster, on.Status.Baseline.DestinationCluster = "cluster-west", "cluster-north"
	run := recorded(t, on)
	run.Name, run.UID, run.Labels[records.LabelKey] = "sliceshift-on", "on", "on"
	m, objects := left(false)
	m.Spec.Mode, m.Spec.Recovery = api.ModeRecover, api.RecoverySpec{DestinationIsOff: "cluster-west"}
	east := apitest.Serve(t, servedToMove(), append(objects, recorded(t, m), run)...)
	connection, err := clusters.Connect("east", &rest.Config{Host: east.URL})
	if err != nil {
		t.Fatal(err)
	}
	d, c := newDriver(t, m)
	d.task.source, d.task.store.Client, d.exitOnStall = connection, connection.Live(), true
	if err := d.drive(t.Context()); err == nil || !strings.Contains(err.Error(), api.ReasonMovedOn) || !strings.Contains(err.Error(), "(ConfigMap shop/sliceshift-on)") {
		t.Errorf("%v\n%s%s", err, c.Stdout, c.Stderr)
	}
	for _, wrote := range east.Wrote() {
		if !strings.Contains(wrote, "/sliceshift-web") {
			t.Errorf("it wrote %s", wrote)
		}
	}
}

// TestRecoverAResource: for a Migration, the mode and the confirmation are written in one update.
func TestRecoverAResource(t *testing.T) {
	m, objects := left(true)
	m.Annotations, m.ResourceVersion = nil, ""
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	east := apitest.Serve(t, servedToMove(api.GroupVersion), append(objects, m)...)
	c := newConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-west", "--nothing-moved-on", "--kubeconfig", east.Kubeconfig(t))
	if got := c.Run(t); got != command.ExitDone || !strings.HasSuffix(c.Stdout.String(), "migration shop/web is being recovered\n") {
		t.Errorf("exit code %d\n%s%s", got, c.Stdout, c.Stderr)
	}
	now := &api.Migration{}
	if err := east.Store.Get(t.Context(), client.ObjectKeyFromObject(m), now); err != nil || now.Spec.Mode != api.ModeRecover || now.Spec.Recovery != (api.RecoverySpec{DestinationIsOff: "cluster-west", NothingMovedOn: true}) {
		t.Errorf("got %s, %+v: %v", now.Spec.Mode, now.Spec.Recovery, err)
	}
	if wrote := east.Wrote(); len(wrote) != 1 {
		t.Errorf("it wrote %v", wrote)
	}
}

// TestRecoverDocument: the document for programs before the confirmation.
func TestRecoverDocument(t *testing.T) {
	m, objects := left(false)
	east := apitest.Serve(t, servedToMove(), append(objects, recorded(t, m))...)
	c := newConsole("recover", "web", "-n", "shop", "--dry-run", "-o", "json", "--kubeconfig", east.Kubeconfig(t))
	if got := c.Run(t); got != command.ExitDone {
		t.Fatalf("exit code %d: %s", got, c.Stderr)
	}
	var d preview.Recovery
	if err := json.NewDecoder(io.Reader(c.Stdout)).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Outcome != api.ReasonRecovered || d.Summary.Ordinals != 2 || len(d.Ordinals) != 3 || d.DestinationCluster != "cluster-west" || len(d.Unknown) == 0 {
		t.Errorf("got %+v", d)
	}
	want := preview.Disk{Template: "data", Claim: "data-web-2", Volume: "pv-data-web-2", Handle: "disk.example/disk-data-web-2", Policy: "Retain", State: "parked", Method: api.MethodRebind}
	if got := d.Ordinals[2]; got.At != preview.AtDestination || len(got.Disks) != 1 || got.Disks[0] != want {
		t.Errorf("got %+v", got)
	}
}

// TestRecoverWhatWasCopied: if each side has separate disks, data written at the destination is lost. The output states
// this before the confirmation.
func TestRecoverWhatWasCopied(t *testing.T) {
	m, objects := left(false)
	m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}
	m.Status.Baseline.Volumes = m.Spec.Volumes
	arrived := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	m.Status.History = &api.History{Handoffs: []api.PastHandoff{{Ordinal: 2, Direction: api.Forward, EndTime: arrived}}}
	turned := metav1.NewMicroTime(arrived.Add(time.Hour)) // the ordinal did not arrive in that handoff
	m.Status.History.Handoffs = append(m.Status.History.Handoffs, api.PastHandoff{Ordinal: 2, Direction: api.Forward, EndTime: turned, Outcome: api.HandoffTurnedBack})
	east := apitest.Serve(t, servedToMove(), append(objects, recorded(t, m))...)
	c := newConsole("recover", "web", "-n", "shop", "--dry-run", "--kubeconfig", east.Kubeconfig(t))
	c.Run(t)
	for _, want := range []string{"Lost with it, whatever is done here:", "all writes to claim template data since its ordinals left", "method Copy", "as of before 2026-01-02T03:04:05Z"} {
		if !strings.Contains(c.Stdout.String(), want) {
			t.Errorf("no %q in:\n%s%s", want, c.Stdout, c.Stderr)
		}
	}
}

// TestStatusOfARecovery: the status shows the confirmation and its cluster. After the end of a move two confirmations
// are required.
func TestStatusOfARecovery(t *testing.T) {
	const off = "a person has said that it is off"
	for name, tc := range map[string]struct {
		id            string
		over, settled bool
		want          string
	}{
		"nothing was said":       {want: "no confirmation that the destination is off"},
		"it is off":              {id: "cluster-west", want: off + "\n"},
		"another one is off":     {id: "cluster-east", want: "not confirmed: cluster-east is not the destination's cluster"},
		"it was over, and is":    {id: "cluster-west", over: true, want: "not confirmed: no confirmation that no ordinal was moved on from cluster cluster-west"},
		"and nothing moved on":   {id: "cluster-west", over: true, settled: true, want: off + ", and that no ordinal was moved on from there"},
		"said, and not asked of": {id: "cluster-west", settled: true, want: off + ", and that no ordinal was moved on from there"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := left(tc.over)
			m.Spec.Mode, m.Spec.Recovery = api.ModeRecover, api.RecoverySpec{DestinationIsOff: tc.id, NothingMovedOn: tc.settled}
			east := serveRecord(t, m)
			c := newConsole("status", "web", "--kubeconfig", east.Kubeconfig(t))
			if got := c.Run(t); got != command.ExitDone || !strings.Contains(c.Stdout.String(), tc.want) {
				t.Errorf("exit code %d, want %q in:\n%s%s", got, tc.want, c.Stdout, c.Stderr)
			}
		})
	}
}
