package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestRecoverARun (G15): the destination does not answer, and its context is gone from the kubeconfig
// in one case. The move is driven from here until every ordinal is back on its disk.
func TestRecoverARun(t *testing.T) {
	for name, completed := range map[string]bool{"in mid-move": false, "after the end": true} {
		t.Run(name, func(t *testing.T) {
			m, objects := left(completed)
			if completed {
				m.Annotations[records.DestinationNameAnnotationKey] = "gone"
			}
			east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
			go controllers(t.Context(), east)
			c := moveConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-west", "--kubeconfig", east.kubeconfig(t))
			// A write that the server's watch has not told of is waited for a while.
			if got := c.passTime(t, c.begin(t), 100*time.Millisecond); got != exitDone {
				t.Fatalf("exit code %d\n%s%s", got, c.out, c.err)
			}
			set := &appsv1.StatefulSet{}
			if err := east.store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, set); err != nil || *set.Spec.Replicas != 3 || len(set.Annotations) > 0 {
				t.Errorf("the source has %d replicas, annotations %v: %v", *set.Spec.Replicas, set.Annotations, err)
			}
			for _, want := range []string{"recovered: every ordinal runs at the source", "parked", "disk.example/disk-data-web-2", "(UID cluster-west)"} {
				if !strings.Contains(c.out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, c.out)
				}
			}
		})
	}
}

// TestRecoverAsks (G15): nothing is written without a person's word, which must be the right one.
func TestRecoverAsks(t *testing.T) {
	notBegun, _ := left(false)
	notBegun.Status.Baseline = nil
	over := rolledBack()
	for name, tc := range map[string]struct {
		args    []string
		record  *api.Migration
		types   string
		want    int
		wantErr string
		changed bool
	}{
		"nobody is there to be asked": {want: 2, wantErr: "--destination-is-off=cluster-west"},
		"the wrong cluster":           {args: []string{"--destination-is-off=cluster-east"}, want: 2, wantErr: "has the UID cluster-west"},
		"the wrong words":             {types: "yes\n", want: 1, wantErr: "nothing has been changed"},
		"no words":                    {types: "\n", want: 1, wantErr: "nothing has been changed"},
		"the words":                   {types: "west is off\n", args: []string{"--timeout", "6s"}, want: 4, changed: true},
		"a dry run":                   {args: []string{"--dry-run"}},
		"a dry run in YAML":           {args: []string{"--dry-run", "-o", "yaml"}},
		"a format without a dry run":  {args: []string{"-o", "json"}, want: 2, wantErr: "-o json is for --dry-run"},
		"not begun":                   {record: notBegun, want: 3, wantErr: api.ReasonNothingToRecover},
		"back already":                {record: over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, objects := left(false)
			if tc.record != nil {
				m = tc.record
			}
			east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
			c := moveConsole(append([]string{"recover", "web", "-n", "shop", "--kubeconfig", east.kubeconfig(t)}, tc.args...)...)
			if tc.types != "" {
				c.In, c.asks = strings.NewReader(tc.types), func() bool { return true }
			}
			if got := c.run(t); got != tc.want || !strings.Contains(c.err.String(), tc.wantErr) {
				t.Errorf("exit code %d, want %d\n%s%s", got, tc.want, c.out, c.err)
			}
			if wrote := east.wrote(); len(wrote) > 0 != tc.changed {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

// TestRecoverWhatAnswers (G15): a destination that answers and has pods of the application is not
// off, whatever was confirmed.
func TestRecoverWhatAnswers(t *testing.T) {
	m, objects := left(false)
	m.Status.Baseline.DestinationCluster = "cluster-east" // both contexts lead to one server here
	m.Annotations[records.DestinationNameAnnotationKey] = "east"
	m.Spec.Destination.Name = "web"
	m.Status.Baseline.SourceCluster = "cluster-east"
	east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
	c := moveConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-east", "--kubeconfig", east.kubeconfig(t))
	if got := c.run(t); got != exitStalled || !strings.Contains(c.err.String(), "it is not off") {
		t.Errorf("exit code %d: %s", got, c.err)
	}
	if wrote := east.wrote(); len(wrote) > 0 {
		t.Errorf("it wrote %v", wrote)
	}
}

// TestRecoverAResource: of a Migration the mode and the word are written at once.
func TestRecoverAResource(t *testing.T) {
	m, objects := left(true)
	m.Annotations, m.ResourceVersion = nil, ""
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	east := serve(t, servedToMove(api.GroupVersion), append(objects, m)...)
	c := moveConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-west", "--kubeconfig", east.kubeconfig(t))
	if got := c.run(t); got != exitDone || !strings.HasSuffix(c.out.String(), "migration shop/web is being recovered\n") {
		t.Errorf("exit code %d\n%s%s", got, c.out, c.err)
	}
	now := &api.Migration{}
	if err := east.store.Get(t.Context(), client.ObjectKeyFromObject(m), now); err != nil || now.Spec.Mode != api.ModeRecover || now.Spec.Recovery.DestinationIsOff != "cluster-west" {
		t.Errorf("got %s, %+v: %v", now.Spec.Mode, now.Spec.Recovery, err)
	}
	if wrote := east.wrote(); len(wrote) != 1 {
		t.Errorf("it wrote %v", wrote)
	}
}

// TestRecoverDocument: what a program is told before it confirms.
func TestRecoverDocument(t *testing.T) {
	m, objects := left(false)
	east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
	c := moveConsole("recover", "web", "-n", "shop", "--dry-run", "-o", "json", "--kubeconfig", east.kubeconfig(t))
	if got := c.run(t); got != exitDone {
		t.Fatalf("exit code %d: %s", got, c.err)
	}
	var d recoverDocument
	if err := json.NewDecoder(io.Reader(c.out)).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Outcome != api.ReasonRecovered || d.Summary.Ordinals != 2 || len(d.Ordinals) != 3 || d.DestinationCluster != "cluster-west" || len(d.Unknown) == 0 {
		t.Errorf("got %+v", d)
	}
	want := recoverDisk{Template: "data", Claim: "data-web-2", Volume: "pv-data-web-2", Handle: "disk.example/disk-data-web-2", Policy: "Retain", State: "parked"}
	if got := d.Ordinals[2]; got.At != atDestination || len(got.Disks) != 1 || got.Disks[0] != want {
		t.Errorf("got %+v", got)
	}
}

// TestStatusOfARecovery: whether a person has said that the destination is off, and of which one.
func TestStatusOfARecovery(t *testing.T) {
	for id, want := range map[string]string{
		"": "nobody has said that the destination is off", "cluster-west": "a person has said that it is off",
		"cluster-east": "not confirmed: cluster-east is not the destination's cluster",
	} {
		m, _ := left(false)
		m.Spec.Mode, m.Spec.Recovery.DestinationIsOff = api.ModeRecover, id
		east := serveRecord(t, m)
		c := moveConsole("status", "web", "--kubeconfig", east.kubeconfig(t))
		if got := c.run(t); got != exitDone || !strings.Contains(c.out.String(), want) {
			t.Errorf("%q: exit code %d, want %q in:\n%s%s", id, got, want, c.out, c.err)
		}
	}
}
