package move

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/pdb"
)

// splitApplication returns a completed run that has moved ordinals 1 and 2 of three, and the objects of the two clusters.
func splitApplication() (m *api.Migration, east, west []client.Object) {
	m, east = left(true)
	m.Spec.Ordinals.Count, m.Status.Total = new(int32(2)), 2
	m.Status.Baseline.DisruptionBudget = &api.DisruptionBudget{Name: "web", MaxUnavailable: new(intstr.FromInt32(1))}
	m.Status.Source = &api.SliceStatus{Slice: "east/shop/web [0,1)", Replicas: 1, MaxUnavailable: new(int32(0))}
	m.Status.Destination = &api.SliceStatus{Slice: "west/shop/web [1,3)", Start: 1, Replicas: 2, MaxUnavailable: new(int32(1))}
	west = []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-west"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, budgetOf(m, 1),
	}
	set := east[0].DeepCopyObject().(*appsv1.StatefulSet)
	set.UID, set.Spec.Replicas, set.Spec.Ordinals = "there", new(int32(2)), &appsv1.StatefulSetOrdinals{Start: 1}
	west = append(west, set)
	for ordinal := 1; ordinal < 3; ordinal++ {
		pod := podOf(ordinal)
		pod.OwnerReferences[0].UID = "there"
		disk := diskOf(ordinal)
		claim, volume := disk[0].(*corev1.PersistentVolumeClaim), disk[1].(*corev1.PersistentVolume)
		claim.Status.Phase, volume.Status.Phase = corev1.ClaimBound, corev1.VolumeBound
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim.Name, UID: claim.UID}
		west = append(west, pod, claim, volume)
	}
	return m, append(east, budgetOf(m, 0)), west
}

// budgetOf returns a PodDisruptionBudget as a run leaves it.
func budgetOf(m *api.Migration, allows int32) *policyv1.PodDisruptionBudget {
	form := pdb.Unavailable(allows)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: types.UID("budget"),
			Annotations: map[string]string{api.BudgetAnnotationKey: pdb.Mark("migration.1", form), api.AuthorBudgetAnnotationKey: pdb.Unavailable(m.Status.Baseline.Budget).String()},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: form.MaxUnavailable, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
}

func allows(t *testing.T, s *apitest.Server) int {
	t.Helper()
	budget := &policyv1.PodDisruptionBudget{}
	if err := s.Store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, budget); err != nil {
		t.Fatal(err)
	}
	return budget.Spec.MaxUnavailable.IntValue()
}

// TestBudgetOfARun (G11): the whole budget of a split application can be given to the side that is about to be drained,
// and back.
func TestBudgetOfARun(t *testing.T) {
	m, here, there := splitApplication()
	east, west := apitest.Serve(t, servedToMove(), append(here, recorded(t, m))...), apitest.Serve(t, servedToMove(), there...)
	kubeconfig := east.KubeconfigWith(t, west.URL)
	try := func(args ...string) *commandtest.Console {
		t.Helper()
		c := newConsole(append([]string{"budget", "web", "-n", "shop", "--kubeconfig", kubeconfig}, args...)...)
		if got := c.PassTime(t, c.Begin(t), 100*time.Millisecond); got != command.ExitDone {
			t.Fatalf("%v: exit code %d\n%s%s", args, got, c.Stdout, c.Stderr)
		}
		return c
	}
	dry := try("--to", "source", "--dry-run")
	if text := dry.Stdout.String(); !strings.Contains(text, "source (cluster east): 0 may be unavailable") || !strings.Contains(text, "Handed over: ordinals [0,3)") || len(east.Wrote())+len(west.Wrote()) > 0 {
		t.Errorf("it wrote %v %v, and says:\n%s", east.Wrote(), west.Wrote(), text)
	}
	for _, to := range []string{"source", "source", "destination", "both"} {
		c := try("--to", to)
		want := map[string][2]int{"source": {1, 0}, "destination": {0, 1}, "both": {0, 1}}[to]
		if have := [2]int{allows(t, east), allows(t, west)}; have != want {
			t.Errorf("to the %s: the budgets allow %v, want %v\n%s", to, have, want, c.Stdout)
		}
	}
}

// TestBudgetOfAResource: the command writes spec.splitBudget, and the manager does the rest.
func TestBudgetOfAResource(t *testing.T) {
	m, here, _ := splitApplication()
	m.Annotations, m.ResourceVersion = nil, ""
	east := apitest.Serve(t, servedToMove(api.GroupVersion), append(here, m)...)
	c := newConsole("budget", "web", "-n", "shop", "--to", "source", "--kubeconfig", east.Kubeconfig(t))
	if got := c.Run(t); got != command.ExitDone || !strings.Contains(c.Stdout.String(), "its manager hands the budget over") {
		t.Errorf("exit code %d\n%s%s", got, c.Stdout, c.Stderr)
	}
	now := &api.Migration{}
	if err := east.Store.Get(t.Context(), client.ObjectKeyFromObject(m), now); err != nil || now.Spec.SplitBudget != api.SplitBudgetSource {
		t.Errorf("got %q: %v", now.Spec.SplitBudget, err)
	}
}

// TestBudgetIsRefused: if no budget can be handed over, the error states the reason and nothing is written.
func TestBudgetIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*api.Migration)
		args   []string
		want   int
		says   string
	}{
		"not begun":      {func(m *api.Migration) { m.Status.Baseline = nil }, []string{"--to", "source"}, 3, "has not begun"},
		"no budget":      {func(m *api.Migration) { m.Status.Baseline.DisruptionBudget = nil }, []string{"--to", "source"}, 3, "no PodDisruptionBudget"},
		"not split":      {func(m *api.Migration) { m.Status.Source.Replicas = 0 }, []string{"--to", "source"}, 3, "not split"},
		"one namespace":  {func(m *api.Migration) { m.Status.Baseline.DestinationCluster = "cluster-east" }, []string{"--to", "source"}, 3, "one PodDisruptionBudget covers both"},
		"nobody":         {func(*api.Migration) {}, nil, 2, "--to must name the side"},
		"somebody else":  {func(*api.Migration) {}, []string{"--to", "me"}, 2, "must be one of"},
		"unreachable":    {func(*api.Migration) {}, []string{"--to", "source"}, 1, "cluster west cannot be read"},
		"a wrong output": {func(*api.Migration) {}, []string{"--to", "source", "-o", "json"}, 2, "is for --dry-run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, here, _ := splitApplication()
			tc.change(m)
			east := apitest.Serve(t, servedToMove(), append(here, recorded(t, m))...)
			c := newConsole(append([]string{"budget", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t)}, tc.args...)...)
			if got := c.Run(t); got != tc.want || !strings.Contains(c.Stderr.String(), tc.says) {
				t.Errorf("exit code %d, want %d: %s", got, tc.want, c.Stderr)
			}
			if wrote := east.Wrote(); len(wrote) > 0 {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

// TestTheRestOfAPart: when run is called again after a partial move, it prints how to move the rest.
func TestTheRestOfAPart(t *testing.T) {
	m, here, there := splitApplication()
	m.Spec.Source.APIVersion = "apps/v1"
	east, west := apitest.Serve(t, servedToMove(), append(here, recorded(t, m))...), apitest.Serve(t, servedToMove(), there...)
	kubeconfig := east.KubeconfigWith(t, west.URL)
	c := newConsole("run", "web", "-n", "shop", "--to-context", "west", "--kubeconfig", kubeconfig)
	if got := c.Run(t); got != command.ExitDone || !strings.Contains(c.Stdout.String(), "To move the rest, begin another move: kubectl --kubeconfig "+kubeconfig+" --context east get configmap -n shop sliceshift-web -o yaml > configmap-sliceshift-web.yaml && kubectl --kubeconfig "+kubeconfig+" --context east delete configmap -n shop sliceshift-web") {
		t.Errorf("exit code %d\n%s%s", got, c.Stdout, c.Stderr)
	}
}
