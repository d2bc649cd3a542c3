package world

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// needySet returns a StatefulSet whose pods need some objects.
func needySet() *appsv1.StatefulSet {
	optional := true
	from := func(name string, optional *bool) corev1.EnvFromSource {
		return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: optional}}
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: appsv1.StatefulSetSpec{ServiceName: "web"}}
	set.Spec.Template.Labels = map[string]string{"app": "web"}
	set.Spec.Template.Spec = corev1.PodSpec{ServiceAccountName: "app", Containers: []corev1.Container{{
		Name: "web", EnvFrom: []corev1.EnvFromSource{from("settings", nil), from("lost", nil), from("maybe", &optional), from("perhaps", &optional)},
	}}}
	return set
}

// around returns the objects of its namespace.
func around() []client.Object {
	var objects []client.Object
	for _, text := range []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {colour: blue}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: perhaps, namespace: shop}, data: {colour: blue}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop}}`,
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: app, namespace: shop}, imagePullSecrets: [{name: pull}]}`,
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: shop}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: shop}, type: Opaque}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: ServiceAccount, name: app, namespace: shop}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: viewer, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: app, namespace: shop}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: others, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: other}, subjects: [{kind: User, name: jane}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader, namespace: shop}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
		`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: None, selector: {app: web}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: front, namespace: shop}, spec: {clusterIP: 10.0.0.1, selector: {app: web}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: web-0, namespace: shop, annotations: {migration.sliceshift.io/created-by: m}}, spec: {selector: {app: web}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: cache, namespace: shop}, spec: {selector: {app: cache}}}`,
		`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: inside, namespace: shop}, spec: {podSelector: {}}}`,
	} {
		objects = append(objects, endpointtest.Object(text))
	}
	return objects
}

// TestReadNeeds: all dependencies of the pods of a set are found, and no other objects of the namespace.
func TestReadNeeds(t *testing.T) {
	needs, err := ReadNeeds(t.Context(), endpointtest.Source(endpointtest.Serving(clustertest.Hooks{}, nil, around()...)), needySet())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ref := range needs.References {
		line := ref.Kind + " " + ref.Name
		if needs.Origins[namedBy(ref)] == nil {
			line += ": not there"
		}
		got = append(got, line)
	}
	want := []string{
		"Secret pull", "ConfigMap lost: not there", "ConfigMap perhaps", "ConfigMap settings", "ServiceAccount app", "Role reader", "RoleBinding reader", "RoleBinding viewer",
		"NetworkPolicy inside", "Service front", "ClusterRole view: not there",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDefaultAccount: the default ServiceAccount is copied only if something of it would be.
func TestDefaultAccount(t *testing.T) {
	set := needySet()
	set.Spec.Template.Spec = corev1.PodSpec{}
	for text, want := range map[string]int{
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: shop}}`:                                      0,
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: shop}, imagePullSecrets: [{name: missing}]}`: 2,
	} {
		needs, err := ReadNeeds(t.Context(), endpointtest.Source(endpointtest.Serving(clustertest.Hooks{}, nil, endpointtest.Object(text))), set)
		if err != nil || len(needs.References) != want {
			t.Errorf("%s: %v, %v", text, needs.References, err)
		}
	}
}

// TestUnreadNeeds: an object that cannot be read is not absent (I6).
func TestUnreadNeeds(t *testing.T) {
	for _, verb := range []string{"get", "list"} {
		broken := errors.New("no route to host")
		live := endpointtest.Serving(clustertest.Failing(broken, verb), nil, around()...)
		if _, err := ReadNeeds(t.Context(), endpointtest.Source(live), needySet()); !errors.Is(err, broken) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// TestTooManyNeeds: an untrusted cluster cannot make a migration read an unlimited number of objects.
func TestTooManyNeeds(t *testing.T) {
	var objects []client.Object
	for i := range mostNeeds + 1 {
		objects = append(objects, endpointtest.Object(fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: s%d, namespace: shop}, spec: {selector: {app: web}}}`, i)))
	}
	if _, err := ReadNeeds(t.Context(), endpointtest.Source(endpointtest.Serving(clustertest.Hooks{}, nil, objects...)), needySet()); err == nil {
		t.Error("all of them are looked for")
	}
}

// compared returns the state of ConfigMap settings for the given objects of the destination.
func compared(t *testing.T, without []string, there ...client.Object) plan.Dependency {
	t.Helper()
	pair := endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, around()...), endpointtest.Serving(clustertest.Hooks{}, without, there...))
	origin := endpointtest.Object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {colour: blue}}`)
	needs := Needs{References: []dependencies.Reference{{Kind: "ConfigMap", Name: "settings", From: "container web"}}, Origins: map[Named]*unstructured.Unstructured{{"ConfigMap", "settings"}: origin}}
	list, err := CopyReader{Pair: pair, Owner: "m"}.Read(t.Context(), needySet(), needs)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// TestCompare: the destination's object is recognized as missing, equal, a copy, a changed copy, or a different
// object.
func TestCompare(t *testing.T) {
	hash := dependencies.Hash(endpointtest.Object(`{apiVersion: v1, kind: ConfigMap, data: {colour: blue}}`))
	mark := func(of string) string {
		return dependencies.Mark{Cluster: "1", Namespace: "shop", Name: "settings", UID: "u", Hash: of, PutBack: 2}.String()
	}
	there := func(data, marks, manager string) client.Object {
		object := endpointtest.Object(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, uid: u2, %s}, data: {colour: %s}}`, marks, data))
		if manager != "" {
			object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:colour":{}}}`)}})
		}
		return object
	}
	marks := fmt.Sprintf(`annotations: {migration.sliceshift.io/origin: %q}, labels: {migration.sliceshift.io/created-by: m}`, mark(hash))
	anothers := strings.Replace(marks, ": m}", ": another}", 1)
	copied := plan.Copy{Found: true, UID: "u2", Hash: hash, Marked: true, Copied: hash, PutBack: 2, Ours: true}
	other := dependencies.Hash(endpointtest.Object(`{apiVersion: v1, kind: ConfigMap, data: {colour: red}}`))
	shared := copied
	shared.Ours, shared.Anothers = false, true
	edited := copied
	edited.Hash, edited.EditedBy = other, "kubectl-edit"
	stored := edited
	stored.EditedBy = ""
	for name, tc := range map[string]struct {
		there []client.Object
		want  plan.Dependency
	}{
		"nothing":                         {nil, plan.Dependency{}},
		"the same":                        {[]client.Object{there("blue", "labels: {a: b}", "")}, plan.Dependency{Copy: plan.Copy{Found: true, UID: "u2", Hash: hash}}},
		"something else":                  {[]client.Object{there("red", "labels: {a: b}", "")}, plan.Dependency{Copy: plan.Copy{Found: true, UID: "u2", Hash: other}, Difference: `data.colour: -"red" +"blue"`}},
		"a copy":                          {[]client.Object{there("blue", marks, "kubectl-edit")}, plan.Dependency{Copy: copied}},
		"another migration's":             {[]client.Object{there("blue", anothers, "")}, plan.Dependency{Copy: shared}},
		"a copy that was changed":         {[]client.Object{there("red", marks, "kubectl-edit")}, plan.Dependency{Copy: edited, Difference: `data.colour: -"red" +"blue"`}},
		"a copy that is stored in a form": {[]client.Object{there("red", marks, api.FieldManager)}, plan.Dependency{Copy: stored, Difference: `data.colour: -"red" +"blue"`}},
	} {
		tc.want.Kind, tc.want.Name, tc.want.From, tc.want.Origin = "ConfigMap", "settings", "container web", hash
		if diff := cmp.Diff(tc.want, compared(t, nil, tc.there...), cmpopts.IgnoreFields(plan.Copy{}, "ResourceVersion")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	if d := compared(t, []string{"ConfigMap"}); !d.Unserved || d.Copy.Found {
		t.Errorf("a kind that is not known: %+v", d)
	}
}

// TestK11RightsAreNotCopied: a Secret that grants rights at the destination is not copied, and not compared with the
// destination's. The same holds for a Secret with credentials of the Migration itself.
func TestK11RightsAreNotCopied(t *testing.T) {
	secret := func(kind string) *unstructured.Unstructured {
		return endpointtest.Object(fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: shop, annotations: {kubernetes.io/service-account.name: admin}}, type: %s}`, kind))
	}
	for name, tc := range map[string]struct {
		kind     string
		withheld []string
		there    []client.Object
		barred   bool
	}{
		"an opaque one":                {"Opaque", nil, nil, false},
		"a token of another account":   {"kubernetes.io/service-account-token", nil, nil, true},
		"one that a controller obeys":  {"bootstrap.kubernetes.io/token", nil, nil, true},
		"credentials of the Migration": {"Opaque", []string{"pull"}, nil, true},
		"the destination has one":      {"kubernetes.io/service-account-token", nil, []client.Object{secret("Opaque")}, false},
	} {
		origin := secret(tc.kind)
		pair := endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, origin), endpointtest.Serving(clustertest.Hooks{}, nil, tc.there...))
		needs := Needs{References: []dependencies.Reference{{Kind: "Secret", Name: "pull", From: "imagePullSecrets"}}, Origins: map[Named]*unstructured.Unstructured{{"Secret", "pull"}: origin}}
		list, err := CopyReader{Pair: pair, Owner: "m", Withheld: tc.withheld}.Read(t.Context(), needySet(), needs)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", name, list, err)
		}
		d := list[0]
		if barred := d.Barred.Reason == api.ReasonDependencyNotCopied; barred != tc.barred || tc.there != nil && (d.Origin != "" || d.Difference != "") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestKeeper: the writer of an object is recognized by its controlling owner.
func TestKeeper(t *testing.T) {
	for owners, want := range map[string]string{
		"[]": "", "[{kind: ExternalSecret, name: db, controller: true}]": "ExternalSecret db", "[{kind: Application, name: shop}]": "",
	} {
		if got := keeperOf(endpointtest.Object("{kind: Secret, metadata: {name: db, ownerReferences: " + owners + "}}")); got != want {
			t.Errorf("%s: %q", owners, got)
		}
	}
	for annotation, want := range map[string]string{
		"cert-manager.io/certificate-name: web-tls": "Certificate web-tls", "reflector.v1.k8s.emberstack.com/reflects: certs/web": "the reflected certs/web",
		`sealedsecrets.bitnami.com/managed: "true"`: "SealedSecret db", "a: b": "",
	} {
		if got := keeperOf(endpointtest.Object("{kind: Secret, metadata: {name: db, annotations: {" + annotation + "}, ownerReferences: [{kind: Application, name: shop}]}}")); got != want {
			t.Errorf("P11 %s: %q", annotation, got)
		}
	}
	if got := keeperOf(endpointtest.Object("{kind: Secret, metadata: {name: db, ownerReferences: [{kind: Certificate, name: web}]}}")); got != "Certificate web" {
		t.Errorf("P11 an owner that controls nothing: %q", got)
	}
}

// TestSelectedStranger (P21): a Service that would select a pod of another application at the destination is found.
// Pods that it selects at the source do not matter.
func TestSelectedStranger(t *testing.T) {
	pod := func(name string) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}}}
	}
	for _, tc := range []struct {
		source, destination []client.Object
		want                string
	}{
		{[]client.Object{pod("web-0")}, []client.Object{pod("web-1")}, ""},
		{[]client.Object{pod("web-0"), pod("canary")}, nil, ""},
		{[]client.Object{pod("web-0")}, []client.Object{pod("canary")}, "shop/canary in cluster west"},
	} {
		pair := endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, append(around(), tc.source...)...), endpointtest.Serving(clustertest.Hooks{}, nil, tc.destination...))
		needs, err := ReadNeeds(t.Context(), pair.Source, needySet())
		if err != nil {
			t.Fatal(err)
		}
		list, err := CopyReader{Pair: pair, Owner: "m"}.Read(t.Context(), needySet(), needs)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if d.Kind == "Service" && d.SelectsOthers != tc.want {
				t.Errorf("it selects %q, not %q", d.SelectsOthers, tc.want)
			}
		}
	}
}

// TestMade: in a rollback the migration's own copies are found, and no others.
func TestMade(t *testing.T) {
	pair := endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil), endpointtest.Serving(clustertest.Hooks{}, nil,
		endpointtest.Object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: shop, labels: {migration.sliceshift.io/created-by: m}}}`),
		endpointtest.Object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: shop, labels: {migration.sliceshift.io/created-by: other}}}`),
		endpointtest.Object(`{apiVersion: v1, kind: Secret, metadata: {name: mine, namespace: shop, labels: {migration.sliceshift.io/created-by: m}}}`),
		endpointtest.Object(`{apiVersion: v1, kind: Secret, metadata: {name: nobodys, namespace: shop}}`),
		endpointtest.Object(`{apiVersion: v1, kind: Pod, metadata: {name: report-1, namespace: shop}, spec: {volumes: [{name: c, configMap: {name: mine}}]}}`),
		endpointtest.Object(`{apiVersion: v1, kind: Pod, metadata: {name: ended, namespace: shop}, spec: {volumes: [{name: c, secret: {secretName: mine}}]}, status: {phase: Succeeded}}`),
	))
	list, err := CopyReader{Pair: pair, Owner: "m"}.Made(t.Context(), needySet())
	if len(list) == 2 && (list[0].Copy.UsedBy != "" || !strings.HasPrefix(list[1].Copy.UsedBy, "shop/report-1 in cluster ")) {
		t.Errorf("used by %q and %q", list[0].Copy.UsedBy, list[1].Copy.UsedBy)
	}
	if err != nil || len(list) != 2 || list[0].Kind != "Secret" || list[1].Kind != "ConfigMap" || !list[0].Copy.Ours || list[0].Name != "mine" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestCopiesAreReadSeldom: recently read dependencies are not read again, except for those that were written, and if
// all must be current.
func TestCopiesAreReadSeldom(t *testing.T) {
	var reads atomic.Int64
	count := clustertest.Before(func(string, runtime.Object) error { reads.Add(1); return nil })
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	e := &Observer{Pair: endpointtest.Pair(endpointtest.Serving(count, nil, around()...), endpointtest.Serving(count, nil)), Clock: clock}
	m := &api.Migration{ObjectMeta: metav1.ObjectMeta{UID: "m"}}
	m.Spec.Mode, m.Spec.Dependencies.Mode = api.ModeRun, api.DependenciesCopy
	s := plan.Snapshot{Spec: SpecOf(m, false)}
	look := func(sc planner.Reads) int64 {
		t.Helper()
		reads.Store(0)
		if d := e.dependencies(t.Context(), m, s, needySet(), sc); !d.Read || len(d.List) != 10 {
			t.Fatalf("%+v", d)
		}
		return reads.Load()
	}
	if first := look(planner.Reads{}); first < 20 {
		t.Errorf("%d reads at first", first)
	}
	if again := look(planner.Reads{Live: true}); again != 0 {
		t.Errorf("%d reads again", again)
	}
	e.BeforeWrite(plan.Effect{Verb: plan.CreateCopy, Side: plan.DestinationSide, Kind: "ConfigMap", Name: "settings"})
	if one := look(planner.Reads{Live: true}); one != 2 {
		t.Errorf("%d reads of what was written", one)
	}
	if anew := look(planner.Reads{Live: true, Dependencies: true}); anew < 20 {
		t.Errorf("%d reads where all must be known", anew)
	}
	clock.SetTime(clock.Now().Add(CopiesSeenFor))
	if later := look(planner.Reads{}); later < 20 {
		t.Errorf("%d reads later", later)
	}
}

// TestLookedAt: dependencies are read only if they are needed.
func TestLookedAt(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*api.Migration, *plan.Snapshot)
		want   looked
	}{
		"it moves":         {func(*api.Migration, *plan.Snapshot) {}, lookAtNeeds},
		"only checked":     {func(_ *api.Migration, s *plan.Snapshot) { s.Spec.Dependencies.Copy = false }, lookAtNone},
		"in one namespace": {func(_ *api.Migration, s *plan.Snapshot) { s.Spec.SameNamespace = true }, lookAtNone},
		"it is over":       {func(_ *api.Migration, s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }, lookAtNone},
		"it pauses":        {func(_ *api.Migration, s *plan.Snapshot) { s.Spec.Mode = api.ModePause }, lookAtNone},
		"it pauses in between": {func(_ *api.Migration, s *plan.Snapshot) {
			s.Spec.Mode, s.Record.Handoff = api.ModePause, &api.Handoff{}
		}, lookAtNeeds},
		"it is deleted": {func(_ *api.Migration, s *plan.Snapshot) { s.Deleting = true }, lookAtNone},
		"it goes back":  {func(_ *api.Migration, s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }, lookAtNone},
		"it goes back in between": {func(_ *api.Migration, s *plan.Snapshot) {
			s.Spec.Mode, s.Record.Handoff = api.ModeRollback, &api.Handoff{}
		}, lookAtNone},
		"it goes back, and cleans up": {func(_ *api.Migration, s *plan.Snapshot) {
			s.Spec.Mode, s.Spec.Dependencies.Delete = api.ModeRollback, true
		}, lookAtMade},
		"it recovers": {func(m *api.Migration, s *plan.Snapshot) { m.Spec.Mode, s.Spec.Mode = api.ModeRecover, api.ModeRecover }, lookAtNone},
	} {
		m := &api.Migration{Status: api.MigrationStatus{Baseline: &api.Baseline{}}}
		s := plan.Snapshot{Spec: plan.Spec{Mode: api.ModeRun, Dependencies: plan.DependencySpec{Copy: true}}, Record: plan.Record{Baseline: m.Status.Baseline}}
		tc.change(m, &s)
		if got := lookedAt(m, s); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestSharedStorage: a claim that all ordinals share is copied to another cluster only, after its volume, and does
// not replace an existing claim. A volume that may not be created is barred together with its claim.
func TestSharedStorage(t *testing.T) {
	const (
		claim  = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: shop, uid: c}, spec: {accessModes: [MODE], volumeName: nfs}, status: {phase: Bound}}`
		volume = `{apiVersion: v1, kind: PersistentVolume, metadata: {name: nfs}, spec: {accessModes: [MODE], persistentVolumeReclaimPolicy: Retain, nfs: {server: a, path: /}, claimRef: {namespace: shop, name: shared, uid: c}}}`
		theirs = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: shop}, spec: {volumeName: other}, status: {phase: Bound}}`
		copied = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: shop, annotations: {migration.sliceshift.io/origin: "1/shop/shared c h 0"}}, spec: {volumeName: nfs}, status: {phase: Pending}}`
	)
	set := needySet()
	set.Spec.Template.Spec = corev1.PodSpec{Volumes: []corev1.Volume{{Name: "shared", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}}}}}
	for name, tc := range map[string]struct {
		mode    string
		there   []string
		cluster types.UID
		drivers []string
		want    []string
	}{
		"to another cluster":              {"ReadWriteMany", nil, "2", nil, []string{"PersistentVolume nfs", "PersistentVolumeClaim shared"}},
		"of one machine":                  {"ReadWriteOnce", nil, "2", nil, []string{"PersistentVolume nfs " + volumes.ReasonClaimNotShareable, "PersistentVolumeClaim shared " + volumes.ReasonClaimNotShareable}},
		"not of an allowed driver":        {"ReadWriteMany", nil, "2", []string{"efs"}, []string{"PersistentVolume nfs " + volumes.ReasonVolumeNotAllowed, "PersistentVolumeClaim shared " + volumes.ReasonVolumeNotAllowed}},
		"somebody has made one there":     {"ReadWriteMany", []string{theirs}, "2", nil, nil},
		"it is a copy, and not bound yet": {"ReadWriteMany", []string{copied}, "2", nil, []string{"PersistentVolume nfs", "PersistentVolumeClaim shared unbound"}},
		"within one cluster":              {"ReadWriteMany", nil, "1", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects := func(texts ...string) (all []client.Object) {
				for _, text := range texts {
					all = append(all, endpointtest.Object(strings.ReplaceAll(text, "MODE", tc.mode)))
				}
				return all
			}
			pair := endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, objects(claim, volume)...), endpointtest.Serving(clustertest.Hooks{}, nil, objects(tc.there...)...))
			pair.Destination.ID = tc.cluster
			needs, err := ReadNeeds(t.Context(), pair.Source, set)
			if err != nil {
				t.Fatal(err)
			}
			list, err := CopyReader{Pair: pair, Owner: "m", Policy: volumes.Policy{Drivers: tc.drivers}}.Read(t.Context(), set, needs)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range list {
				line := d.Kind + " " + d.Name
				if d.Barred.Reason != "" {
					line += " " + d.Barred.Reason
				}
				if d.Copy.Unbound {
					line += " unbound"
				}
				if got = append(got, line); !d.Storage || d.ClusterWide != (d.Kind == dependencies.PersistentVolume) {
					t.Errorf("%+v", d)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestVolumeOfACopy: the copy of a volume is recognized although it is cluster-scoped, and whether its storage would
// be deleted with it.
func TestVolumeOfACopy(t *testing.T) {
	made := endpointtest.Object(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: nfs, labels: {migration.sliceshift.io/created-by: m}, annotations: {migration.sliceshift.io/origin: "1//nfs u h 0"}}, spec: {persistentVolumeReclaimPolicy: Delete}}`)
	pair := endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil), endpointtest.Serving(clustertest.Hooks{}, nil, made))
	list, err := CopyReader{Pair: pair, Owner: "m"}.Made(t.Context(), needySet())
	if err != nil || len(list) != 1 || !list[0].Copy.Marked || !list[0].Copy.Ours || !list[0].Copy.Releases {
		t.Errorf("%+v, %v", list, err)
	}
}
