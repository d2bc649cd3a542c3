package move

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	"sigs.k8s.io/yaml"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// everybody lists the rights of every user in every cluster (system:basic-user).
var everybody = map[string]bool{
	"selfsubjectaccessreviews.authorization.k8s.io create": true, "selfsubjectrulesreviews.authorization.k8s.io create": true,
	"selfsubjectreviews.authentication.k8s.io create": true,
}

// unasked lists rights that no request uses directly. The admission plugin OwnerReferencesPermissionEnforcement
// checks them with other requests. To set an owner with blockOwnerDeletion, a user must be allowed to update
// the owner's finalizers. To change the owner of a claim, a user must be allowed to delete the claim. See
// theatre.owners. An older manager, which may run during an upgrade, replaces statuses. Nodes are asked when a
// pod is not Ready for a minute (package slices, TestY12PodThatWasNeverReady).
var unasked = map[string]bool{
	"statefulsets/finalizers.apps.sliceshift.io update": true,
	"pods/finalizers update":                            true,
	"persistentvolumeclaims delete":                     true,
	"migrations/status.migration.sliceshift.io update":  true,
	"nodes get": true,
}

// unnamed lists rights of movers for objects that no claim names here (package preflight, TestY15AttributesOfNewVolumes), and
// for the classes of storage in place (package world, readClasses).
var unnamed = map[string]bool{"volumeattributesclasses.storage.k8s.io get": true, "storageclasses.storage.k8s.io get": true}

// comparedHere lists the roles whose rules TestRights compares with the requests; comparedElsewhere names the
// tests for the other roles. TestRolesReach compares the powers of each role.
var comparedHere = map[string][]string{
	"the mover":   {"sliceshift-mover", "sliceshift-mover-cluster"},
	"the manager": {"sliceshift-manager", "sliceshift-slices", "sliceshift-leader-election", "sliceshift-metrics-auth"},
}

var comparedElsewhere = map[string]string{
	"sliceshift-metrics-reader":             "TestMetrics",
	"sliceshift-page-user":                  "TestPageOfTheManager",
	"sliceshift-migration-viewer":           "TestPageOfTheManager",
	"sliceshift-migration-pauser":           "TestOnCall",
	"sliceshift-migration-editor":           "TestAuthors",
	"sliceshift-statefulset-viewer":         "TestRolesReach",
	"sliceshift-statefulset-editor":         "TestRolesReach",
	"sliceshift-impersonated":               "TestConstrainedImpersonation",
	"sliceshift-impersonated-dependencies":  "TestConstrainedImpersonation",
	"sliceshift-revision-inputs":            "TestRolesReach",
	"sliceshift-mover-gates":                "TestGatesAskPods",
	"sliceshift-mover-jobs":                 "TestManagedHooks",
	"sliceshift-mover-pods":                 "TestCopyRights",
	"sliceshift-mover-snapshots":            "TestSnapshotMoves",
	"sliceshift-mover-snapshots-cluster":    "TestSnapshotMoves",
	"sliceshift-mover-writers":              "TestRightsOverWriters",
	"sliceshift-mover-dependencies":         "TestRightsOfCopies",
	"sliceshift-mover-dependencies-cluster": "TestRightsOfCopies",
	"sliceshift-rehearser":                  "TestRehearseRights",
	"sliceshift-rehearser-cluster":          "TestRehearseRights",
	"sliceshift-rehearser-destination":      "TestRehearseRights",
	"sliceshift-rehearser-stage":            "TestRehearseRights",
}

// everyRole fails for a role of config/rbac that no test compares.
func everyRole(t *testing.T) {
	t.Helper()
	objects, err := config.ConstrainedObjects()
	if err != nil {
		t.Fatal(err)
	}
	here := slices.Concat(slices.Collect(maps.Values(comparedHere))...)
	for _, object := range objects {
		kind, name := object.GetKind(), object.GetName()
		if strings.HasSuffix(kind, "Role") && !slices.Contains(here, name) && comparedElsewhere[name] == "" {
			t.Errorf("no test compares the rules of %s %s with what is asked of an API server", kind, name)
		}
	}
	for name, test := range comparedElsewhere {
		if _, is := embeddedOnly[test]; !is && !slices.Contains(onKind, test) {
			t.Errorf("%s: there is no test %s", name, test)
		}
	}
}

// theatre holds two clusters that log every request, with the shipped roles. One of them runs a manager whose
// account has no other rights.
type theatre struct {
	t        *testing.T
	from, to *audited
}

func newTheatre(t *testing.T) *theatre {
	t.Helper()
	r := &theatre{
		t: t,
		// Without WatchList, informers send list requests.
		from: startAudited(t, "rights-from", "--feature-gates=WatchList=false", "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"),
		to:   startAudited(t, "rights-to"),
	}
	for _, each := range []*audited{r.from, r.to} {
		each.migrate(0, "install", "--image", "example.com/manager:1")
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(mcscrd.ServiceExportCRD, crd); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fixture.Create(context.Background(), each.client, crd), defineWriters(each.Cluster)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestRights runs everything that the manager and a mover do, and compares their requests with the shipped
// roles. No request was refused, and no rule is unused.
func TestRights(t *testing.T) {
	t.Parallel()
	everyRole(t)
	r := newTheatre(t)
	metrics := r.startManager()
	r.move()
	r.rollBack()
	r.turnsNames()
	r.moveSlices()
	r.command()
	r.slices()
	r.collides()
	r.events()
	r.owners()
	r.scrape(metrics)
	here, there := r.from.used(), r.to.used()
	if there.granted["mover"]["selfsubjectaccessreviews.authorization.k8s.io create"] {
		t.Error("the API server lists all rights of the mover, and they were reviewed one by one")
	}
	mover := together(here.granted, append(accounts(here.granted), "mover")...)
	maps.Copy(mover, there.granted["mover"])
	maps.Copy(mover, unnamed)
	r.compare("the mover", shipped(t, comparedHere["the mover"]...), mover)
	if mover[podsForGood] {
		t.Error("the mover has created a pod")
	}
	r.compare("the manager", shipped(t, comparedHere["the manager"]...),
		together(map[string]map[string]bool{"": here.granted[fixture.ManagerUser], "unasked": unasked}, "", "unasked"))
	for _, u := range []usage{here, there} {
		for _, user := range append(accounts(u.refused), "mover", fixture.ManagerUser) {
			if refused := u.refused[user]; len(refused) > 0 {
				t.Errorf("%s was refused %v", user, slices.Sorted(maps.Keys(refused)))
			}
		}
	}
}

// accounts returns the accounts of the tests' namespaces, which write to the local cluster.
func accounts(all map[string]map[string]bool) []string {
	var found []string
	for user := range all {
		if strings.HasPrefix(user, "system:serviceaccount:t-") {
			found = append(found, user)
		}
	}
	return found
}

func (r *theatre) compare(who string, granted, used map[string]bool) {
	r.t.Helper()
	used = maps.Clone(used)
	for right := range everybody {
		delete(used, right)
	}
	delete(used, podsForGood)
	for right := range granted {
		if !used[right] {
			r.t.Errorf("%s is granted, and never uses: %s", who, right)
		}
	}
	for right := range used {
		if !granted[right] {
			r.t.Errorf("%s uses, and is not granted by its own roles: %s", who, right)
		}
	}
}

// startManager runs the manager for all namespaces and returns the address of its metrics.
func (r *theatre) startManager() string {
	r.t.Helper()
	address := loopback.AddressFor(r.t)
	m := harness.ManagerWith(r.t, r.from.accountKubeconfig("sliceshift-system", "sliceshift-manager"), "", "manager.log")
	m.Args = append(m.Args, "--leader-election-id", "sliceshift", "--metrics-bind-address", address)
	m.Run()
	return address
}

func (r *theatre) across(v *harness.Move) { v.From, v.To = r.from.Cluster, r.to.Cluster }

// driven creates the Migration of a move for the manager.
func (r *theatre) driven(v *move) *move {
	r.t.Helper()
	v.Grant(v.Source, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.App.Namespace, Name: "default"})
	if v.To != v.From {
		v.Grant(v.Destination, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"})
		v.UseMover()
	}
	v.Must(r.from.client.Create(v.Ctx, v.Migration))
	return v
}

// evacuated creates the Migration of a move for an Evacuation, which begins it.
func (r *theatre) evacuated(v *move) *move {
	r.t.Helper()
	const name = "all"
	v.Migration.Labels = map[string]string{api.EvacuationLabelKey: name}
	v.Migration.Annotations = map[string]string{api.EvacuationHeldAnnotationKey: name}
	v.Migration.Spec.Mode = api.ModePause
	r.driven(v)
	v.Must(r.from.client.Create(v.Ctx, &api.Evacuation{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Migration.Namespace, Name: name},
		Spec:       api.EvacuationSpec{Migrations: []api.EvacuatedMigration{{Name: v.Migration.Name}}},
	}))
	return v
}

// end waits until the Migration has completed with this reason, and deletes it.
func (r *theatre) end(v *move, reason string) {
	r.t.Helper()
	if condition := v.Await(r.from.client, api.ConditionCompleted, metav1.ConditionTrue); condition.Reason != reason {
		r.t.Errorf("completed with %s", condition.Reason)
	}
	v.Must(r.from.client.Delete(v.Ctx, v.Migration))
	v.Eventually("the Migration is gone", harness.Gone(r.from.client, v.Migration))
}

// everything sets all options of a move.
func everything(spec *api.MigrationSpec) {
	spec.Services.Export = true
	spec.Cleanup.Source = api.CleanupDelete
	named(spec)
	spec.Cleanup.PerOrdinalServices = api.CleanupDelete
}

func (r *theatre) move() {
	r.t.Helper()
	v := newMove(r.t, harness.Usual(2), r.across, by((*move).csiVolumes), harness.WithSpec(everything), by(func(v *move) { v.Deployed = v.needMuch }))
	v.csiNode(2)
	r.end(r.evacuated(v), api.ReasonMoved)
}

// needMuch makes the pod template refer to objects that must exist at the destination.
func (v *move) needMuch() {
	v.T.Helper()
	v.Must(v.makeNamespace())
	for _, client := range v.bothClients() {
		_, err := client.SchedulingV1().PriorityClasses().Create(v.Ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace}, Value: 1}, metav1.CreateOptions{})
		v.Must(err)
		v.makeRuntime(client, v.App.Namespace)
		_, err = client.CoreV1().ServiceAccounts(v.App.Namespace).Create(v.Ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
		v.Must(err)
		_, err = client.CoreV1().ConfigMaps(v.App.Namespace).Create(v.Ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
		v.Must(err)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}
	_, err := v.Source.RbacV1().Roles(v.App.Namespace).Create(v.Ctx, role, metav1.CreateOptions{})
	v.Must(err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "web"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}
	_, err = v.Source.RbacV1().RoleBindings(v.App.Namespace).Create(v.Ctx, binding, metav1.CreateOptions{})
	v.Must(err)
	v.patchSource(`{"spec":{"template":{"spec":{"priorityClassName":"` + v.App.Namespace + `","runtimeClassName":"` + v.App.Namespace + `","serviceAccountName":"web","volumes":[{"name":"settings","configMap":{"name":"settings"}}]}}}}`)
	v.awaitObserved()
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}

// rollBack rolls a move back.
func (r *theatre) rollBack() {
	r.t.Helper()
	v := r.driven(newMove(r.t, harness.Usual(3), r.across, harness.WithSpec(exported)))
	v.awaitFewer(2)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"Rollback"}}`))
	v.Must(r.from.client.Patch(v.Ctx, &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: v.Migration.Namespace, Name: v.Migration.Name}}, patch))
	r.end(v, api.ReasonRolledBack)
}

// turnsNames rolls a move back while the name of an ordinal is on both sides. No process drives the move at
// that time, so the name at the source is marked.
func (r *theatre) turnsNames() {
	r.t.Helper()
	v := newMove(r.t, harness.Usual(1), r.across, harness.WithSpec(named))
	for _, client := range v.bothClients() {
		v.Grant(client, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"})
	}
	mover, err := fixture.NewMover(v.Ctx, r.moverOf(v.From), r.moverOf(v.To), v.Migration)
	v.Must(err)
	onBothSides := errors.New("the name is on both sides")
	err = harness.Follow(v.Ctx, v.T, mover, harness.WroteOn(plan.DestinationSide, plan.CreatePodExport)(func() error { return onBothSides }))
	if !errors.Is(err, onBothSides) {
		r.t.Fatalf("the run ended with: %v", err)
	}
	v.Must(mover.Store.SetMode(v.Ctx, api.ModeRollback))
	marked := false
	v.Drive(mover, harness.WroteOn(plan.SourceSide, plan.MarkPodExport)(func() error {
		marked = true
		return nil
	}))
	if v.ExpectBack(); !marked {
		r.t.Error("the name that the ordinal went back to was not marked")
	}
}

// moverOf returns the configuration of the user mover.
func (r *theatre) moverOf(at harness.Cluster) *rest.Config {
	r.t.Helper()
	path, err := at.UserKubeconfig("mover")
	if err != nil {
		r.t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		r.t.Fatal(err)
	}
	return config
}

// moveSlices moves a StatefulSet of our own kind.
func (r *theatre) moveSlices() {
	r.t.Helper()
	app := harness.Usual(2)
	app.MaxUnavailable = nil // the disruption controller discovers a new kind only after 30 s
	v := newMove(r.t, app, within(r.from.Cluster), ofKinds(slice, slice), harness.WithSpec(func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }))
	r.end(r.driven(v), api.ReasonMoved)
}

// command moves with the command line as a user with the mover's rights.
func (r *theatre) command() {
	r.t.Helper()
	v := newMove(r.t, harness.Usual(2), r.across)
	var paths []string
	for _, c := range []*audited{r.from, r.to} {
		path, err := c.UserKubeconfig("mover")
		v.Must(err)
		paths = append(paths, path)
	}
	for _, client := range v.bothClients() {
		v.Grant(client, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"})
	}
	run := exec.CommandContext(v.Ctx, harness.Program(r.t, "migrate"), "run", v.App.Name, "-n", v.App.Namespace, "--kubeconfig", paths[0], "--to-kubeconfig", paths[1], "--create-namespace", "--shared", "data")
	v.exits(run, 0)
	v.ExpectMoved()
}

func (v *move) bothClients() []kubernetes.Interface {
	return []kubernetes.Interface{v.Source, v.Destination}
}

// slices makes the manager use all features of a StatefulSet of our own kind.
func (r *theatre) slices() {
	r.t.Helper()
	p := r.newSlice("t-slices")
	p.complete()
	p.change(func(s *slicesapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = "web:2" }) // updated in place
	p.change(func(s *slicesapi.StatefulSetSpec) {
		s.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2m") // resized
	})
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1)), Selector: p.set.Spec.Selector},
	}
	p.must(p.client.Create(p.ctx, budget))
	p.change(func(s *slicesapi.StatefulSetSpec) {
		rolls := s.UpdateStrategy.RollingUpdate
		rolls.Budget, rolls.TopologyKey = slicesapi.BudgetPodDisruptionBudget, corev1.LabelHostname
		s.Template.Spec.Containers[0].Image = "web:3"
	}) // charged to the budget, node by node
	p.change(func(s *slicesapi.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.Budget, s.UpdateStrategy.RollingUpdate.TopologyKey = "", ""
	})
	p.must(p.client.Delete(p.ctx, budget))
	former := p.read().Spec.Template
	p.change(func(s *slicesapi.StatefulSetSpec) {
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
	}) // recreated
	p.change(func(s *slicesapi.StatefulSetSpec) {
		rolls := s.UpdateStrategy.RollingUpdate
		rolls.MaxSurge, rolls.MaxUnavailable = new(intstr.FromInt32(1)), new(intstr.FromInt32(0))
		s.Template.Spec.Containers[0].Env[0].Value = "2"
	}) // a surge pod with its own claims
	p.change(func(s *slicesapi.StatefulSetSpec) {
		s.UpdateStrategy.RollingUpdate.MaxSurge, s.UpdateStrategy.RollingUpdate.MaxUnavailable = nil, nil
	})
	p.must(p.client.Patch(p.ctx, p.key(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+slicesapi.MigratingAnnotationKey+`":"true"}}}`))))
	p.change(func(s *slicesapi.StatefulSetSpec) { s.Template = former }) // evicted; a former revision becomes the newest
	p.change(func(s *slicesapi.StatefulSetSpec) {
		s.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		}
	})
	// A new set adopts the orphaned objects.
	p.must(p.client.Delete(p.ctx, p.key(), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	p.eventually("the set is gone", func(ctx context.Context) (bool, error) {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(p.set), &slicesapi.StatefulSet{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	p.set.ResourceVersion, p.set.UID = "", ""
	p.must(p.client.Create(p.ctx, p.set))
	p.complete()
}

// collides creates a set whose revision name is already taken.
func (r *theatre) collides() {
	r.t.Helper()
	first := r.newSlice("t-first")
	first.complete()
	taken := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: first.read().Status.UpdateRevision}, Data: runtime.RawExtension{Raw: []byte(`{}`)}}
	second := r.newSlice("t-second", taken)
	second.complete()
	if name := second.read().Status.UpdateRevision; name == taken.Name {
		r.t.Errorf("revision %s is somebody else's", name)
	}
}

// events makes the manager repeat an event about an unchanged object, which becomes a series.
func (r *theatre) events() {
	r.t.Helper()
	p := r.newSlice("t-events")
	p.complete()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	p.must(p.client.Create(p.ctx, quota))
	p.must(p.client.Patch(p.ctx, p.key(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`))))
	noted := kubernetes.NewForConfigOrDie(r.from.RESTConfig()).EventsV1().Events(p.set.Namespace)
	p.eventually("an event is counted", func(ctx context.Context) (bool, error) {
		events, err := noted.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Series != nil }), nil
	})
}

// sliceOf is a StatefulSet of our own kind in its own namespace.
type sliceOf struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // a test has one context, and every helper needs it
	client client.Client
	set    *slicesapi.StatefulSet
}

// newSlice creates a set after other objects of its namespace.
func (r *theatre) newSlice(namespace string, before ...client.Object) *sliceOf {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), harness.TimeLimit())
	r.t.Cleanup(cancel)
	app := map[string]string{"app": "web"}
	container := corev1.Container{Name: "web", Image: "web:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}}}
	p := &sliceOf{t: r.t, ctx: ctx, client: r.from.client, set: &slicesapi.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: slicesapi.StatefulSetSpec{
			Replicas: new(int32(2)), ServiceName: "web", Selector: &metav1.LabelSelector{MatchLabels: app}, RevisionHistoryLimit: new(int32(0)),
			PodManagementPolicy: appsv1.ParallelPodManagement, TerminationReasonPolicy: slicesapi.AnnounceAlways,
			UpdateStrategy: slicesapi.StatefulSetUpdateStrategy{RollingUpdate: &slicesapi.RollingUpdateStrategy{PodUpdatePolicy: slicesapi.InPlaceIfPossible}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{container}, ReadinessGates: []corev1.PodReadinessGate{{ConditionType: slicesapi.InPlaceUpdateReady}},
			}},
			VolumeClaimTemplates: fixture.App{Claims: []string{"data"}}.StatefulSet().Spec.VolumeClaimTemplates,
		},
	}}
	p.must(p.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	p.eventually("the namespace has its account", func(ctx context.Context) (bool, error) {
		err := p.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	for _, object := range before {
		object.SetNamespace(namespace)
		p.must(p.client.Create(ctx, object))
	}
	p.must(p.client.Create(ctx, p.set))
	return p
}

// owners shows the purpose of the rights that no request uses directly. A user without them is refused what the
// manager has done.
func (r *theatre) owners() {
	r.t.Helper()
	p := r.newSlice("t-owners")
	p.complete()
	less := r.lacking("persistentvolumeclaims delete", "pods/finalizers update", "statefulsets/finalizers.apps.sliceshift.io update")
	owner := *metav1.NewControllerRef(p.read(), slicesapi.GroupVersion.WithKind("StatefulSet"))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: "web-9", OwnerReferences: []metav1.OwnerReference{owner}},
		Spec:       p.set.Spec.Template.Spec,
	}
	if err := less.Create(p.ctx, pod, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "cannot set blockOwnerDeletion") {
		r.t.Errorf("a pod of the set: %v", err)
	}
	owner.Controller, owner.BlockOwnerDeletion = nil, nil
	claim := &corev1.PersistentVolumeClaim{}
	p.must(p.client.Get(p.ctx, client.ObjectKey{Namespace: p.set.Namespace, Name: "data-web-0"}, claim))
	owned := claim.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{owner}
	if err := less.Patch(p.ctx, owned, client.MergeFrom(claim), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "cannot set an ownerRef") {
		r.t.Errorf("the claim of a set: %v", err)
	}
	p.must(p.client.Get(p.ctx, client.ObjectKey{Namespace: p.set.Namespace, Name: "web-0"}, pod))
	temporary := claim.DeepCopy()
	temporary.ObjectMeta = metav1.ObjectMeta{
		Namespace: p.set.Namespace, Name: "data-web-9", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
	}
	if err := less.Create(p.ctx, temporary, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "cannot set blockOwnerDeletion") {
		r.t.Errorf("the claim of a pod: %v", err)
	}
}

// lacking returns a client of a user with the manager's rights for slices, except these.
func (r *theatre) lacking(rights ...string) client.Client {
	r.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "less"}}
	for right := range shipped(r.t, "sliceshift-slices") {
		if slices.Contains(rights, right) {
			continue
		}
		what, verb, _ := strings.Cut(right, " ")
		name, group, _ := strings.Cut(what, ".")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{name}, Verbs: []string{verb}})
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "less"}},
	}
	api := kubernetes.NewForConfigOrDie(r.from.RESTConfig())
	if _, err := api.RbacV1().ClusterRoles().Create(r.t.Context(), role, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(r.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	if err := fixture.AwaitRight(r.t.Context(), api, binding.Subjects[0], authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods"}); err != nil {
		r.t.Fatal(err)
	}
	config := r.from.RESTConfig()
	config.Impersonate.UserName = "less"
	c, err := client.New(config, client.Options{Scheme: r.from.client.Scheme()})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (p *sliceOf) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *sliceOf) key() *slicesapi.StatefulSet {
	return &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: p.set.Namespace, Name: p.set.Name}}
}

func (p *sliceOf) read() *slicesapi.StatefulSet {
	p.t.Helper()
	set := &slicesapi.StatefulSet{}
	p.must(p.client.Get(p.ctx, client.ObjectKeyFromObject(p.set), set))
	return set
}

// change changes the spec and waits until the rollout is complete.
func (p *sliceOf) change(edit func(*slicesapi.StatefulSetSpec)) {
	p.t.Helper()
	p.eventually("the change is taken", func(ctx context.Context) (bool, error) {
		set := p.read()
		edit(&set.Spec)
		err := p.client.Update(ctx, set)
		return err == nil, ignoreConflict(err)
	})
	p.complete()
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (p *sliceOf) complete() {
	p.t.Helper()
	p.eventually("the set is complete", func(context.Context) (bool, error) {
		set := p.read()
		s, want := set.Status, *set.Spec.Replicas
		return s.ObservedGeneration == set.Generation && s.UpdatedReplicas == want && s.AvailableReplicas == want && s.CurrentRevision == s.UpdateRevision, nil
	})
}

func (p *sliceOf) eventually(what string, holds func(context.Context) (bool, error)) {
	p.t.Helper()
	if err := wait.PollUntilContextCancel(p.ctx, 20*time.Millisecond, true, holds); err != nil {
		p.t.Fatalf("%s: %v: %+v", what, err, p.read().Status)
	}
}

// scrape checks that an account without the right cannot read the metrics.
func (r *theatre) scrape(address string) {
	r.t.Helper()
	if code, body := getMetrics(r.t, address, tokenOf(r.t, r.from.client, "default", "default")); code != http.StatusForbidden {
		r.t.Errorf("metrics for anybody: %d: %s", code, body)
	}
}
