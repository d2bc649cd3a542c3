package evacuate

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/sets"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestNamed: a flag that names a StatefulSet that was not found is refused, because its order would be ignored.
func TestNamed(t *testing.T) {
	found := []sets.Found{{StatefulSet: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}}
	for name, tc := range map[string]struct {
		waves       map[string]int
		independent []string
		want        string
	}{
		"none":                         {nil, nil, ""},
		"with and without a namespace": {map[string]int{"web": 1}, []string{"shop/web"}, ""},
		"a wave of none":               {map[string]int{"wbe": 1}, nil, "--wave wbe: no such StatefulSet was found among the 1"},
		"one of another namespace":     {nil, []string{"bank/web"}, "--independent bank/web: no such StatefulSet"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reader{options: &options{waves: tc.waves, independent: tc.independent}}
			err := r.expectNamed(found)
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || command.ExitCode(err) != command.ExitUsage || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestUnusedTemplates: a claim template of the flags that no StatefulSet has is named.
func TestUnusedTemplates(t *testing.T) {
	web := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	web.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	r := &reader{options: &options{}}
	f := pflag.NewFlagSet("evacuate", pflag.ContinueOnError)
	r.spec.Add(f)
	if err := f.Parse([]string{"--shared", "data", "--shared", "dta"}); err != nil {
		t.Fatal(err)
	}
	for _, found := range [][]sets.Found{nil, {{StatefulSet: web}}} {
		if err := r.noteTemplates(found); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"no StatefulSet has claim template dta, so its flags have no effect"}; !slices.Equal(r.notes, want) {
		t.Errorf("%q", r.notes)
	}
}

// TestNamespaces: a namespace that is named twice is read once.
func TestNamespaces(t *testing.T) {
	o := &options{Common: command.NewCommon(console().Environment)}
	*o.Config.Namespace = "shop,bank,shop"
	if err := o.Complete(New(command.NewCommon(console().Environment)), nil); err != nil || !slices.Equal(o.namespaces, []string{"shop", "bank"}) {
		t.Errorf("%q, %v", o.namespaces, err)
	}
}

// TestClaims: a set that a paused Migration of a user moves cannot move, and the finding names it. Those of the Evacuation
// that is written again do not count.
func TestClaims(t *testing.T) {
	web := evacuate.Name{Namespace: "shop", Name: "web"}
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "mine", Labels: map[string]string{api.EvacuationLabelKey: "all"}}}
	m.Spec.Mode = api.ModePause
	_, connection := serve(t)
	r := &reader{options: &options{Common: command.NewCommon(console().Environment)}, source: connection, claimed: map[evacuate.Name]records.Stored{web: {Migration: m}}}
	if got := r.claims(evacuate.Name{Namespace: "shop", Name: "db"}); got != nil {
		t.Errorf("db is claimed: %+v", got)
	}
	got := r.claims(web)
	if len(got) != 1 || got[0].Reason != api.ReasonHeldByAnother || !strings.HasPrefix(got[0].Message, "Migration moves/mine in cluster west, in mode Pause, moves StatefulSet shop/web already") || !strings.Contains(got[0].Remedy, "status mine -n moves") {
		t.Errorf("%+v", got)
	}
	for name, tc := range map[string]struct {
		creation creation
		want     bool
	}{
		"a plan alone":                           {creation{}, false},
		"another Evacuation":                     {creation{name: "other", namespace: "moves"}, false},
		"of the same name, in another namespace": {creation{name: "all", namespace: "shop"}, false},
		"the same one":                           {creation{name: "all", namespace: "moves"}, true},
	} {
		if owns := tc.creation.owns(m); owns != tc.want {
			t.Errorf("%s: %t", name, owns)
		}
	}
}

// TestUnderWay: when the Evacuation is written again, a set whose Migration has begun has no obstacle, not even its fence.
func TestUnderWay(t *testing.T) {
	web := evacuate.Name{Namespace: "shop", Name: "web"}
	held := judged{plan: preview.Plan{Findings: []plan.Finding{{Reason: api.ReasonHeldByAnother}}}}
	r := &reader{underWay: map[evacuate.Name]bool{web: true}}
	if got := r.obstaclesOf(held, web); got != nil {
		t.Errorf("%+v", got)
	}
	if got := r.obstaclesOf(held, evacuate.Name{Namespace: "shop", Name: "db"}); len(got) != 1 {
		t.Errorf("of another one: %+v", got)
	}
}

// TestMeans: without the Secret or the account nothing is written. That they may not be read is no obstacle.
func TestMeans(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "west"}, Data: map[string][]byte{"value": []byte("x")}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "mover"}}
	for name, tc := range map[string]struct {
		objects   []client.Object
		key       string
		forbidden bool
		want      string
	}{
		"both":           {[]client.Object{secret, account}, "value", false, ""},
		"no Secret":      {[]client.Object{account}, "value", false, "has no Secret moves/west: create it with a kubeconfig of cluster west first; nothing was written"},
		"another key":    {[]client.Object{secret, account}, "other", false, "Secret moves/west has no key other"},
		"no account":     {[]client.Object{secret}, "value", false, "has no ServiceAccount moves/mover"},
		"not to be read": {nil, "value", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, connection := serve(t, tc.objects...)
			if tc.forbidden {
				s.Before = func(*http.Request) error { return apierrors.NewForbidden(schema.GroupResource{}, "", nil) }
			}
			o := &options{creation: creation{name: "all", namespace: "moves", account: "mover", destination: &api.SecretKeyReference{Name: "west", Key: tc.key}}}
			err := (&reader{options: o, source: connection, destination: connection}).expectMeans(t.Context())
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestNoneYet: before anything is written, an Evacuation of the name is named with what to do.
func TestNoneYet(t *testing.T) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "all"}}
	for name, tc := range map[string]struct {
		objects []client.Object
		err     error
		want    string
	}{
		"there is none":  {nil, nil, ""},
		"it exists":      {[]client.Object{e}, nil, "has an Evacuation moves/all already, and nothing was written: to see it, "},
		"not to be read": {nil, apierrors.NewForbidden(schema.GroupResource{}, "", nil), "cluster west refuses it"},
		"no answer":      {nil, apierrors.NewInternalError(errors.New("broken")), "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			s, connection := serve(t, tc.objects...)
			s.Before = func(*http.Request) error { return tc.err }
			err := (&reader{options: &options{Common: command.NewCommon(console().Environment)}, source: connection}).expectNone(t.Context(), e)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestWrittenBefore: a Migration of an earlier command is used only if it moves its StatefulSet as the plan states. A completed
// one moves nothing, and one with other settings moves it elsewhere or in another way.
func TestWrittenBefore(t *testing.T) {
	planned := func() *api.Migration {
		m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "shop-web", Labels: map[string]string{api.EvacuationLabelKey: "all"}}}
		m.Spec.Source = api.SourceReference{Namespace: "shop", Name: "web"}
		m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west", Key: "value"}
		m.Spec.Mode, m.Spec.ServiceAccountName = api.ModePause, "mover"
		m.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind}}
		return m
	}
	completed := func(reason string) func(*api.Migration) {
		return func(m *api.Migration) {
			m.Status.Conditions = []metav1.Condition{{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: reason}}
		}
	}
	const remove = "kubectl --context west delete migration -n moves shop-web"
	for name, tc := range map[string]struct {
		change func(*api.Migration)
		want   []string
	}{
		"the same":              {func(*api.Migration) {}, nil},
		"under way":             {func(m *api.Migration) { m.Spec.Mode, m.Status.Baseline = api.ModeRun, &api.Baseline{} }, nil},
		"of another Evacuation": {func(m *api.Migration) { m.Labels = nil }, []string{"it is not of Evacuation all"}},
		"it has moved":          {completed(api.ReasonMoved), []string{"it is completed as Moved, so it moves nothing any more", "migrate report shop-web -n moves", remove}},
		"it is being deleted": {func(m *api.Migration) {
			m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{api.Finalizer}
		}, []string{"it is being deleted", "kubectl --context west describe migration -n moves shop-web"}},
		"it was rolled back": {completed(api.ReasonRolledBack), []string{"it is completed as RolledBack", remove}},
		"another cluster":    {func(m *api.Migration) { m.Spec.Destination.KubeConfigSecretRef.Name = "north" }, []string{"it has another spec.destination than", remove}},
		"another account":    {func(m *api.Migration) { m.Spec.ServiceAccountName = "" }, []string{"it has another spec.serviceAccountName than"}},
		"another class":      {func(m *api.Migration) { m.Spec.Volumes[0].StorageClassName = new("slow") }, []string{"it has another spec.volumes than"}},
		"another method":     {func(m *api.Migration) { m.Spec.Volumes[0].Method = api.MethodEmpty }, []string{"it has another spec.volumes than"}},
		"under way to another cluster": {func(m *api.Migration) {
			m.Spec.Destination.KubeConfigSecretRef.Key, m.Status.Baseline = "other", &api.Baseline{}
		}, []string{"it has begun with another spec.destination than"}},
		"under way with its first class": {func(m *api.Migration) { m.Spec.Volumes, m.Status.Baseline = nil, &api.Baseline{} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := planned()
			tc.change(before)
			s, connection := serve(t, before)
			o := &options{Common: command.NewCommon(console().Environment), creation: creation{name: "all", namespace: "moves"}}
			r := &reader{options: o, source: connection.ReachedBy("--context west")}
			other := planned()
			other.Name = "shop-db"
			exists, err := r.written(t.Context(), []*api.Migration{planned(), other})
			if (err == nil) != (tc.want == nil) || !exists["shop-web"] || exists["shop-db"] {
				t.Errorf("%v, %v", exists, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v lacks %q", err, want)
				}
			}
			if writes := s.Wrote(); len(writes) > 0 {
				t.Errorf("it wrote %q", writes)
			}
		})
	}
}

// TestClaimsHere: a Migration whose source is another cluster claims no StatefulSet of this one, unless it has begun here.
func TestClaimsHere(t *testing.T) {
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	m.Spec.Source = api.SourceReference{Name: "web"}
	if !claimsIn("here", m) {
		t.Error("the manager's cluster is the source")
	}
	m.Spec.Source.KubeConfigSecretRef = &api.SecretKeyReference{Name: "other", Key: "value"}
	if claimsIn("here", m) {
		t.Error("another cluster is the source")
	}
	m.Status.Baseline = &api.Baseline{SourceCluster: "here"}
	if !claimsIn("here", m) {
		t.Error("it has begun here")
	}
	m.Status.Baseline.SourceCluster = "there"
	if claimsIn("here", m) {
		t.Error("it has begun there")
	}
}
