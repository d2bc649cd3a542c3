package move

import (
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// power is a critical ability. Each power has a list of the rights that lead to it, each as "verb
// group/resource/subresource/name". A right over a controller that creates pods leads to every pod of the
// namespace.
type power string

const (
	anyPod       power = "run any pod of the namespace, under any account and with any Secret"
	insidePods   power = "run code in pods that exist, or reach their ports"
	stopPods     power = "stop pods"
	readSecrets  power = "read Secrets"
	writeSecrets power = "write Secrets"
	otherNames   power = "act as another identity"
	giveRights   power = "give rights that RBAC does not find with the giver"
	writeRights  power = "write roles and bindings"
	anyDisk      power = "mount any disk, or any folder of a node"
	anySnapshot  power = "restore any snapshot of the storage"
	steerTools   power = "steer GitOps tools and operators, with the rights of these"
	writeMoves   power = "patch Migrations"
	startMoves   power = "create or delete Migrations"
	forgeMoves   power = "write the status of Migrations"
	admission    power = "change what the API server admits, or its resources"
	nodes        power = "change nodes, or reach their kubelets"
	identities   power = "sign or review identities"
	makeSpaces   power = "create namespaces"
	writeConfigs power = "write ConfigMaps"
)

var powers = map[power][]string{
	anyPod: each("create,update,patch",
		"apps/statefulsets", "apps/deployments", "apps/daemonsets", "apps/replicasets", "/replicationcontrollers", "apps.sliceshift.io/statefulsets", "batch/cronjobs",
		"apps.kruise.io/statefulsets").and("create", "/pods", "batch/jobs"),
	insidePods: each("update,patch", "/pods", "/pods/ephemeralcontainers").
		and("get,create", "/pods/exec", "/pods/attach", "/pods/portforward", "/pods/proxy", "/services/proxy", "/nodes/proxy"),
	stopPods:     each("delete,deletecollection", "/pods", "apps/statefulsets", "apps.sliceshift.io/statefulsets").and("create", "/pods/eviction").and("update,patch", "apps/statefulsets/scale", "apps.sliceshift.io/statefulsets/scale"),
	readSecrets:  each("get,list,watch", "/secrets"),
	writeSecrets: each("create,update,patch,delete", "/secrets"),
	otherNames: each("impersonate,impersonate:user-info,impersonate:serviceaccount,impersonate:arbitrary-node,impersonate:associated-node",
		"/users", "/groups", "/serviceaccounts", "authentication.k8s.io/users", "authentication.k8s.io/groups", "authentication.k8s.io/serviceaccounts",
		"authentication.k8s.io/uids", "authentication.k8s.io/userextras/scopes", "authentication.k8s.io/nodes").and("create", "/serviceaccounts/token"),
	giveRights: each("bind,escalate", "rbac.authorization.k8s.io/roles", "rbac.authorization.k8s.io/clusterroles"),
	writeRights: each("create,update,patch,delete", "rbac.authorization.k8s.io/roles", "rbac.authorization.k8s.io/rolebindings",
		"rbac.authorization.k8s.io/clusterroles", "rbac.authorization.k8s.io/clusterrolebindings"),
	anyDisk:     each("create,update,patch,delete", "/persistentvolumes").and("create,update,patch", "storage.k8s.io/storageclasses", "storage.k8s.io/csidrivers"),
	anySnapshot: each("create,update,patch,delete", "snapshot.storage.k8s.io/volumesnapshotcontents", "snapshot.storage.k8s.io/volumesnapshotclasses"),
	steerTools: each("create,update,patch,delete", "argoproj.io/applications", "kustomize.toolkit.fluxcd.io/kustomizations", "helm.toolkit.fluxcd.io/helmreleases",
		"keda.sh/scaledobjects", "kafka.strimzi.io/kafkas", "monitoring.coreos.com/prometheuses"),
	writeMoves: each("update,patch", "migration.sliceshift.io/migrations"),
	startMoves: each("create,delete,deletecollection", "migration.sliceshift.io/migrations"),
	forgeMoves: each("update,patch", "migration.sliceshift.io/migrations/status", "apps.sliceshift.io/statefulsets/status"),
	admission: each("create,update,patch,delete", "admissionregistration.k8s.io/validatingwebhookconfigurations", "admissionregistration.k8s.io/mutatingwebhookconfigurations",
		"admissionregistration.k8s.io/validatingadmissionpolicies", "admissionregistration.k8s.io/validatingadmissionpolicybindings",
		"admissionregistration.k8s.io/mutatingadmissionpolicies", "apiextensions.k8s.io/customresourcedefinitions", "apiregistration.k8s.io/apiservices"),
	nodes:        each("create,update,patch,delete", "/nodes", "/nodes/status").and("get,create", "/nodes/proxy", "/nodes/exec"),
	identities:   each("create,update,patch", "certificates.k8s.io/certificatesigningrequests", "certificates.k8s.io/certificatesigningrequests/approval").and("create", "authentication.k8s.io/tokenreviews").and("approve,sign", "certificates.k8s.io/signers"),
	makeSpaces:   each("create,update,patch,delete", "/namespaces"),
	writeConfigs: each("create,update,patch,delete", "/configmaps"),
}

// worth lists the powers of each shipped role. A role must give no other power. A role that is not in this
// table fails the test.
var worth = map[string][]power{
	"sliceshift-manager":                    {readSecrets, otherNames, writeMoves, forgeMoves},
	"sliceshift-slices":                     {anyPod, insidePods, stopPods, forgeMoves},
	"sliceshift-revision-inputs":            {readSecrets, writeSecrets, writeConfigs},
	"sliceshift-impersonated":               nil, // together with the manager's role: TestConstrainedImpersonation
	"sliceshift-impersonated-dependencies":  nil,
	"sliceshift-leader-election":            nil,
	"sliceshift-metrics-auth":               {identities},
	"sliceshift-metrics-reader":             nil,
	"sliceshift-page-user":                  nil,
	"sliceshift-migration-viewer":           nil,
	"sliceshift-statefulset-viewer":         nil,
	"sliceshift-migration-pauser":           {writeMoves},
	"sliceshift-migration-editor":           {writeMoves, startMoves},
	"sliceshift-statefulset-editor":         {anyPod, stopPods},
	"sliceshift-mover":                      {anyPod, stopPods, writeConfigs},
	"sliceshift-mover-cluster":              {anyDisk, makeSpaces},
	"sliceshift-mover-gates":                {insidePods},
	"sliceshift-mover-jobs":                 {anyPod},
	"sliceshift-mover-pods":                 {anyPod, insidePods, stopPods},
	"sliceshift-mover-snapshots":            {anyPod, stopPods},
	"sliceshift-mover-snapshots-cluster":    {anySnapshot},
	"sliceshift-mover-writers":              {steerTools},
	"sliceshift-mover-dependencies":         {readSecrets, writeSecrets, writeRights, writeConfigs},
	"sliceshift-mover-dependencies-cluster": nil,
	"sliceshift-rehearser":                  {readSecrets, writeConfigs},
	"sliceshift-rehearser-cluster":          {anySnapshot},
	"sliceshift-rehearser-destination":      {writeRights, anyDisk, anySnapshot, makeSpaces},
	"sliceshift-rehearser-stage":            {anyPod, insidePods, stopPods, readSecrets, writeSecrets, makeSpaces, writeConfigs},
}

// paths are the rights that lead to one power.
type paths []string

func each(verbs string, resources ...string) paths {
	var all paths
	for verb := range strings.SplitSeq(verbs, ",") {
		for _, resource := range resources {
			all = append(all, verb+" "+resource)
		}
	}
	return all
}

func (p paths) and(verbs string, resources ...string) paths {
	return append(p, each(verbs, resources...)...)
}

// attributesOf returns the attributes of a right in a namespace for an access review.
func attributesOf(right, namespace string) authorizationv1.ResourceAttributes {
	verb, what, _ := strings.Cut(right, " ")
	parts := strings.SplitN(what, "/", 3)
	a := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: parts[0], Resource: parts[1], Version: "*"}
	if len(parts) > 2 {
		a.Subresource = parts[2]
	}
	return a
}

// TestRolesReach: on a real API server, every role of config/rbac gives exactly the powers of this table. K3:
// the editor of Migrations cannot run a pod.
func TestRolesReach(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "powers")
	j.namespace("shop")
	j.namespace("elsewhere")
	objects, err := config.ConstrainedObjects()
	j.must(err)
	seen := map[string]bool{}
	for _, object := range objects {
		kind, name := object.GetKind(), object.GetName()
		if kind != "ClusterRole" && kind != "Role" {
			continue
		}
		seen[name] = true
		want, known := worth[name]
		if !known {
			t.Errorf("%s %s is in no table: add what it is worth to worth in this file, and to docs/security.md", kind, name)
			continue
		}
		j.run(name, func(j judged) {
			if kind == "Role" {
				j.bindRole(object.GetNamespace(), name, "in-"+name)
				j.reaches("in-"+name, object.GetNamespace(), want)
				j.reaches("in-"+name, "shop", nil)
				return
			}
			j.bind("shop", name, "in-"+name)
			j.bind("", name, "all-"+name)
			j.reaches("all-"+name, "shop", want)
			j.within("in-"+name, want)
			j.reaches("in-"+name, "elsewhere", nil)
		})
	}
	for name := range worth {
		if !seen[name] {
			t.Errorf("the table has the role %s, which is not installed", name)
		}
	}
	j.run("K3/view, edit and admin", judged.aggregated)
	j.run("K3/a role with one right more is seen", judged.seen)
}

// bindRole binds a Role of a namespace to a user.
func (j judged) bindRole(namespace, role, user string) {
	j.t.Helper()
	_, err := kubernetes.NewForConfigOrDie(j.RESTConfig()).RbacV1().RoleBindings(namespace).Create(j.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reach-" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	j.must(err)
}

// found returns the rights of a user in a namespace, by power. If settled is true, it first waits until the API
// server knows the user's bindings.
func (j judged) found(user, namespace string, settled bool) map[power][]string {
	j.t.Helper()
	api := kubernetes.NewForConfigOrDie(j.RESTConfig())
	if settled { // the API server receives bindings in order
		j.settle()
	}
	got := map[power][]string{}
	for p, rights := range powers {
		for _, right := range rights {
			a := attributesOf(right, namespace)
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: []string{"system:authenticated"}, ResourceAttributes: &a}}
			answer, err := api.AuthorizationV1().SubjectAccessReviews().Create(j.t.Context(), review, metav1.CreateOptions{})
			j.must(err)
			if answer.Status.Allowed {
				got[p] = append(got[p], right)
			}
		}
	}
	return got
}

// settle waits until the API server knows all bindings that were created so far.
func (j judged) settle() {
	j.t.Helper()
	user := "last-" + strings.ReplaceAll(strings.ToLower(j.t.Name()), "/", "-") + "-" + metav1.Now().Format("150405.000000")
	j.bind("", "sliceshift-mover-cluster", user)
	j.must(fixture.AwaitRight(j.t.Context(), kubernetes.NewForConfigOrDie(j.RESTConfig()), rbacv1.Subject{Kind: rbacv1.UserKind, Name: user},
		authorizationv1.ResourceAttributes{Verb: "patch", Resource: "persistentvolumes"}))
}

// reaches checks that a user has exactly these powers in a namespace.
func (j judged) reaches(user, namespace string, want []power) {
	j.t.Helper()
	got := j.found(user, namespace, true)
	for p, rights := range got {
		if !slices.Contains(want, p) {
			j.t.Errorf("%s may, in namespace %s, %s: %v", user, namespace, p, rights)
		}
	}
	for _, p := range want {
		if len(got[p]) == 0 {
			j.t.Errorf("%s may not, in namespace %s, %s: take that out of the table", user, namespace, p)
		}
	}
}

// within checks that a user has no other powers in namespace shop.
func (j judged) within(user string, most []power) {
	j.t.Helper()
	for p, rights := range j.found(user, "shop", false) {
		if !slices.Contains(most, p) {
			j.t.Errorf("%s may, in namespace shop, %s: %v", user, p, rights)
		}
	}
}

// aggregated checks the powers that the aggregated roles add to the cluster's own roles. A user with view can
// run nothing. The role edit can run any pod without them; they only add Migrations to it.
func (j judged) aggregated() {
	for _, role := range []string{"view", "edit", "admin"} {
		j.bind("shop", role, "own-"+role)
	}
	api := kubernetes.NewForConfigOrDie(j.RESTConfig())
	for user, rights := range map[string][]string{
		"own-view":  {"list migration.sliceshift.io/migrations", "get apps.sliceshift.io/statefulsets"},
		"own-edit":  {"create migration.sliceshift.io/migrations", "create apps.sliceshift.io/statefulsets", "patch apps.sliceshift.io/statefulsets/scale"},
		"own-admin": {"create migration.sliceshift.io/migrations", "create apps.sliceshift.io/statefulsets", "list migration.sliceshift.io/migrations"},
	} {
		for _, right := range rights {
			j.must(fixture.AwaitRight(j.t.Context(), api, rbacv1.Subject{Kind: rbacv1.UserKind, Name: user}, attributesOf(right, "shop")))
		}
	}
	for role, most := range map[string][]power{
		"view":  nil,
		"edit":  {anyPod, insidePods, stopPods, readSecrets, writeSecrets, otherNames, writeMoves, startMoves, writeConfigs},
		"admin": {anyPod, insidePods, stopPods, readSecrets, writeSecrets, otherNames, writeMoves, startMoves, writeConfigs, writeRights},
	} {
		j.settle()
		j.within("own-"+role, most)
	}
}

// seen checks that the test detects an excessive right. With the right to create StatefulSets of our own kind,
// a user can run any pod.
func (j judged) seen() {
	j.role("shop", "too-much", rbacv1.PolicyRule{APIGroups: []string{"apps.sliceshift.io"}, Resources: []string{"statefulsets"}, Verbs: []string{"create"}})
	j.must(fixture.AwaitRight(j.t.Context(), kubernetes.NewForConfigOrDie(j.RESTConfig()), rbacv1.Subject{Kind: rbacv1.UserKind, Name: "too-much"},
		attributesOf("create apps.sliceshift.io/statefulsets", "shop")))
	if got := j.found("too-much", "shop", false); len(got[anyPod]) != 1 || len(got) != 1 {
		j.t.Errorf("it may %v", got)
	}
}
