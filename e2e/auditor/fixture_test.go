package auditor

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

const (
	setName    = "web"
	pollPeriod = 10 * time.Millisecond
	// patience is far longer than any step of these tests.
	patience = 2 * time.Minute
)

// startClusters starts two control planes that all staged tests share.
func startClusters(t *testing.T) [2]*cluster.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real API servers")
	}
	binary, err := cluster.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := cluster.StartAll(t.Context(), cluster.Options{Binary: binary}, "east", "west")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clusters {
		c.StopAfter(t)
	}
	return [2]*cluster.Cluster{clusters[0], clusters[1]}
}

// end is one side of a staged move.
type end struct {
	kubernetes.Interface
	config    *rest.Config
	name      string
	namespace string
	set       string
}

// sets returns the client for the side's StatefulSets.
func (e *end) sets() appsv1client.StatefulSetInterface { return e.AppsV1().StatefulSets(e.namespace) }

// budgets returns the client for the side's disruption budgets.
func (e *end) budgets() policyv1client.PodDisruptionBudgetInterface {
	return e.PolicyV1().PodDisruptionBudgets(e.namespace)
}

// claims returns the client for the side's claims.
func (e *end) claims() corev1client.PersistentVolumeClaimInterface {
	return e.CoreV1().PersistentVolumeClaims(e.namespace)
}

// pods returns the client for the side's pods.
func (e *end) pods() corev1client.PodInterface { return e.CoreV1().Pods(e.namespace) }

// stage holds the two ends of one test and its auditor.
type stage struct {
	t    *testing.T
	ends [2]*end
}

// newStage creates a namespace for the test on both sides.
func newStage(t *testing.T, from, to *cluster.Cluster) *stage {
	t.Helper()
	s := &stage{t: t}
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "TestStaged/parallel/", "").Replace(t.Name()))
	for i, c := range []*cluster.Cluster{from, to} {
		config := c.RESTConfig()
		config.QPS = -1
		client, err := kubernetes.NewForConfig(config)
		s.must(err)
		e := &end{Interface: client, config: config, name: c.Name(), namespace: name + []string{"-src", "-dst"}[i], set: setName}
		_, err = client.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}, metav1.CreateOptions{})
		s.must(err)
		s.ends[i] = e
	}
	return s
}

// newCloseStage returns a stage with both sides in one namespace, under one disruption budget.
func newCloseStage(t *testing.T, c *cluster.Cluster) *stage {
	t.Helper()
	s := newStage(t, c, c)
	to := *s.ends[judge.Source]
	to.set = "api"
	s.ends[judge.Destination] = &to
	return s
}

// isClose reports whether both sides are one namespace.
func (s *stage) isClose() bool {
	return s.ends[judge.Source].namespace == s.ends[judge.Destination].namespace
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// audit starts the auditor of the stage.
func (s *stage) audit(budget int32) *Auditor {
	s.t.Helper()
	side := func(e *end) Side {
		return Side{Name: e.name, Config: e.config, Namespace: e.namespace, Set: e.set}
	}
	a, err := Start(s.t.Context(), Options{
		Source: side(s.ends[judge.Source]), Destination: side(s.ends[judge.Destination]), Budget: budget,
	})
	s.must(err)
	return a
}

// until waits for a condition that the cluster reaches on its own.
func (s *stage) until(what string, done func(ctx context.Context) (bool, error)) {
	s.t.Helper()
	if err := wait.PollUntilContextTimeout(s.t.Context(), pollPeriod, patience, true, done); err != nil {
		s.t.Fatalf("wait until %s: %v", what, err)
	}
}

// untilViolated waits until the auditor has found the staged violation, ends the audit and checks the report.
func (s *stage) untilViolated(a *Auditor, invariant Invariant, fragments ...string) {
	s.t.Helper()
	for _, fragment := range fragments {
		found := func(f Finding) bool { return f.Invariant == invariant && strings.Contains(f.Message, fragment) }
		var last Report
		err := wait.PollUntilContextTimeout(s.t.Context(), pollPeriod, patience, true, func(context.Context) (bool, error) {
			last = Report{}
			a.ledger.fill(&last)
			return slices.ContainsFunc(last.Violations, found), nil
		})
		if err != nil {
			s.t.Errorf("%s: no violation says %q, but %+v", invariant, fragment, last.Violations)
		}
	}
	if r := a.Finish(s.t.Context()); r.OK() {
		s.t.Errorf("the auditor agrees:\n%s", r)
	} else {
		s.t.Logf("\n%s", r)
	}
}

// makeSet returns a StatefulSet without a name, which deploy sets. template is the name of its claim template, or
// empty.
func makeSet(start, replicas int32, template string) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(replicas),
			Ordinals:            &appsv1.StatefulSetOrdinals{Start: start},
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
			},
		},
	}
	if template != "" {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: template},
			Spec:       claimSpec(""),
		}}
	}
	return set
}

func claimSpec(volume string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		},
		VolumeName: volume,
	}
}

// deploy creates a set on one side and waits until its pods are Ready.
func (s *stage) deploy(side judge.SideIndex, set *appsv1.StatefulSet) {
	s.t.Helper()
	s.create(side, set)
	s.untilReady(side)
}

// create names a set after its side and creates it.
func (s *stage) create(side judge.SideIndex, set *appsv1.StatefulSet) {
	s.t.Helper()
	e := s.ends[side]
	set.Name, set.Spec.ServiceName = e.set, e.set
	set.Spec.Template.Labels = map[string]string{"app": "web", "set": e.set}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
	_, err := e.sets().Create(s.t.Context(), set, metav1.CreateOptions{})
	s.must(err)
}

// createPod creates a pod without a controller.
func (s *stage) createPod(side judge.SideIndex, ordinal int32) {
	s.t.Helper()
	_, err := s.ends[side].pods().Create(s.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: judge.PodName(s.ends[side].set, ordinal)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}, metav1.CreateOptions{})
	s.must(err)
}

// checksOf returns the number of completed checks so far.
func (a *Auditor) checksOf(invariant Invariant) int {
	var r Report
	a.ledger.fill(&r)
	return r.Checks[invariant]
}

func (s *stage) untilReady(side judge.SideIndex) {
	s.t.Helper()
	e := s.ends[side]
	s.until("the pods of "+e.namespace+" are Ready", func(ctx context.Context) (bool, error) {
		set, err := e.sets().Get(ctx, e.set, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return set.Status.ObservedGeneration == set.Generation && set.Status.ReadyReplicas == *set.Spec.Replicas, nil
	})
}

// scale sets both fields of one side's range in one write.
func (s *stage) scale(side judge.SideIndex, start, replicas int32) {
	s.t.Helper()
	e := s.ends[side]
	set, err := e.sets().Get(s.t.Context(), e.set, metav1.GetOptions{})
	s.must(err)
	set.Spec.Replicas, set.Spec.Ordinals = new(replicas), &appsv1.StatefulSetOrdinals{Start: start}
	_, err = e.sets().Update(s.t.Context(), set, metav1.UpdateOptions{})
	s.must(err)
}

// protect creates a budget on one side and waits for the controller.
func (s *stage) protect(side judge.SideIndex, maxUnavailable int32) {
	s.t.Helper()
	_, err := s.ends[side].budgets().Create(s.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: setName},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			MaxUnavailable: new(intstr.FromInt32(maxUnavailable)),
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.untilAllowed(side, maxUnavailable)
}

// allow changes a budget and waits until it allows exactly the given number of evictions.
func (s *stage) allow(side judge.SideIndex, maxUnavailable, evictions int32) {
	s.t.Helper()
	s.until("the budget is written", func(ctx context.Context) (bool, error) {
		pdb, err := s.ends[side].budgets().Get(ctx, setName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		pdb.Spec.MaxUnavailable = new(intstr.FromInt32(maxUnavailable))
		_, err = s.ends[side].budgets().Update(ctx, pdb, metav1.UpdateOptions{})
		return err == nil, nil // a conflict with the controller's status
	})
	s.untilAllowed(side, evictions)
}

func (s *stage) untilAllowed(side judge.SideIndex, evictions int32) {
	s.t.Helper()
	s.until("the budget is confirmed", func(ctx context.Context) (bool, error) {
		pdb, err := s.ends[side].budgets().Get(ctx, setName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return pdb.Status.ObservedGeneration == pdb.Generation && pdb.Status.DisruptionsAllowed == evictions, nil
	})
}
