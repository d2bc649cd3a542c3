package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// startBound is far above the usual time: two clusters together take 3 s on an idle machine.
const startBound = 30 * time.Second

func TestClusters(t *testing.T) {
	binary := controlPlane(t)
	start := clock.RealClock{}.Now()
	clusters, err := StartAll(bounded(t), Options{Binary: binary, Log: os.Stderr}, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	took := clock.RealClock{}.Since(start)
	t.Logf("two clusters were ready after %s", took.Round(10*time.Millisecond))
	for _, c := range clusters {
		c.StopAfter(t)
	}
	if took > startBound {
		t.Errorf("the start took %s, want less than %s", took, startBound)
	}

	for _, c := range clusters {
		t.Run("runs a StatefulSet/"+c.Name(), func(t *testing.T) { testStatefulSet(t, c) })
	}
	a := clusters[0]
	t.Run("kubectl", func(t *testing.T) { testKubectl(t, a) })
	t.Run("users", func(t *testing.T) { testUsers(t, a) })
	t.Run("a kubelet deletes no pod by itself", func(t *testing.T) { testNoKubeletDeletes(t, a) })
	t.Run("delays", func(t *testing.T) { testDelays(t, a) })
	t.Run("not ready", func(t *testing.T) { testNotReadyStays(t, a) })
	t.Run("recreation", func(t *testing.T) { testRecreation(t, a) })
	for _, role := range Roles() {
		t.Run("kill "+string(role), func(t *testing.T) { testKill(t, a, role) })
	}
	for _, role := range []Role{Etcd, APIServer} {
		t.Run("kill in flight "+string(role), func(t *testing.T) { testKillInFlight(t, a, role) })
		t.Run("freeze "+string(role), func(t *testing.T) { testFreeze(t, a, role) })
	}
	t.Run("stop a role", func(t *testing.T) { testStopRole(t, a) })
	t.Run("stop", func(t *testing.T) { testStop(t, clusters[1]) })
}

// set is the StatefulSet that most of the tests scale.
const set = "web"

func testStatefulSet(t *testing.T, c *Cluster) {
	client := clientOf(t, c)
	start := clock.RealClock{}.Now()
	_, err := client.AppsV1().StatefulSets(namespace).
		Create(t.Context(), makeStatefulSet(set, 3), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitStatefulSet(t, client, set, 3)
	took := clock.RealClock{}.Since(start)
	t.Logf("3 pods with claims, one after the other: %s", took.Round(time.Millisecond))
}

func testKubectl(t *testing.T, c *Cluster) {
	output, err := c.Kubectl(bounded(t), "get", "pod", set+"-0", "-o", "jsonpath={.status.phase}").CombinedOutput()
	if err != nil || string(output) != "Running" {
		t.Errorf("kubectl says %q, %v; want Running", output, err)
	}
	output, err = c.Kubectl(bounded(t), "version").CombinedOutput()
	if err != nil || bytes.Count(output, []byte("v1.")) != 2 { // client and server
		t.Errorf("kubectl version says %q, %v", output, err)
	}
}

// replicas returns the number of replicas that the previous tests left.
func replicas(t *testing.T, c *Cluster) int32 {
	t.Helper()
	current, err := clientOf(t, c).AppsV1().StatefulSets(namespace).Get(t.Context(), set, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *current.Spec.Replicas
}

// testKill kills a role and starts it again; the cluster must continue where it was.
func testKill(t *testing.T, c *Cluster, role Role) {
	before := replicas(t, c)
	if err := c.Kill(role); err != nil {
		t.Fatal(err)
	}
	if err := c.StartRole(bounded(t), role); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	scale(t, clientOf(t, c), set, before+1)
	if err := c.StartRole(bounded(t), role); err == nil {
		t.Error("started a role that runs, want an error")
	}
}

// testKillInFlight kills a role that stores data while pods start. No pod may remain because of an interrupted write.
func testKillInFlight(t *testing.T, c *Cluster, role Role) {
	client := clientOf(t, c)
	name, count := "flight-"+string(role), int32(20)
	object := makeStatefulSet(name, count)
	object.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	if _, err := client.AppsV1().StatefulSets(namespace).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "first pods are there", func(ctx context.Context) error {
		_, err := client.CoreV1().Pods(namespace).Get(ctx, name+"-3", metav1.GetOptions{})
		return err
	})
	if err := c.Kill(role); err != nil {
		t.Fatal(err)
	}
	if err := c.StartRole(bounded(t), role); err != nil {
		t.Fatal(err)
	}
	waitStatefulSet(t, client, name, count)
	scale(t, client, name, 0)
}

func testFreeze(t *testing.T, c *Cluster, role Role) {
	client := clientOf(t, c)
	before := replicas(t, c)
	if err := c.Freeze(role); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	maps := client.CoreV1().ConfigMaps(namespace)
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "frozen"}}, metav1.CreateOptions{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write to a frozen %s ends with %v, want %v", role, err, context.DeadlineExceeded)
	}
	if err := c.Thaw(role); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	scale(t, client, set, before+1)
}

// testStopRole also checks that a missing role does not keep WaitReady.
func testStopRole(t *testing.T, c *Cluster) {
	if err := c.StopRole(Scheduler); err != nil {
		t.Fatal(err)
	}
	if err := c.Freeze(Scheduler); err == nil {
		t.Error("froze a role that does not run, want an error")
	}
	if err := c.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.StartRole(bounded(t), Scheduler); err != nil {
		t.Fatal(err)
	}
	if err := c.Freeze(ControllerManager); err != nil { // Stop must cope
		t.Fatal(err)
	}
}

func testStop(t *testing.T, c *Cluster) {
	volumes := c.volumes()
	if len(volumes) != 3 {
		t.Errorf("volumes %v, want 3", volumes)
	}
	logs := c.KeepLogs()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("second stop: %v", err)
	}
	if err := c.StartRole(bounded(t), Etcd); err == nil {
		t.Error("started a role of a stopped cluster, want an error")
	}
	for _, path := range append(volumes, c.Kubeconfig()) {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	for _, role := range Roles() {
		if _, err := os.Stat(c.LogFile(role)); err != nil {
			t.Errorf("log of %s: %v", role, err)
		}
	}
	if err := os.RemoveAll(strings.TrimSuffix(logs, "/logs")); err != nil {
		t.Error(err)
	}
}

func TestStartFails(t *testing.T) {
	binary := controlPlane(t)
	tests := map[string]struct {
		options Options
		want    string
	}{
		"no name":    {options: Options{Binary: binary}, want: "name"},
		"no binary":  {options: Options{Name: "a", Binary: "/does/not/exist"}, want: "etcd: start"},
		"wrong flag": {options: Options{Name: "a", Binary: binary, Args: map[Role][]string{APIServer: {"--no-such-flag"}}}, want: "no-such-flag"},
		"a folder in use": {
			options: Options{Name: "a", Binary: binary, Dir: "."},
			want:    "not empty",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.options.Dir == "" {
				tc.options.Dir = t.TempDir()
			}
			c, err := Start(bounded(t), tc.options)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("start: %v, %v; want an error with %q", c, err, tc.want)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dirs := map[string]*Cluster{}
	for _, name := range []string{"alive", "dead", "kept"} {
		c := &Cluster{options: Options{Name: name, Keep: name == "kept"}}
		if err := c.makeDir(); err != nil {
			t.Fatal(err)
		}
		dirs[name] = c
	}
	dirs["dead"].lock.Close()
	if err := dirs["kept"].removeDir(); err != nil {
		t.Fatal(err)
	}
	sweep()
	for name, want := range map[string]bool{"alive": true, "dead": false, "kept": true} {
		if _, err := os.Stat(dirs[name].dir); (err == nil) != want {
			t.Errorf("folder of the %s cluster: %v, want it there: %t", name, err, want)
		}
	}
	dirs["alive"].lock.Close()
}

// TestSweepSparesWhatIsMade: sweep does not take a folder under construction for a folder whose process has died. Once
// it did, between the creation of the folder's lock and the locking.
func TestSweepSparesWhatIsMade(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	made := make(chan struct{})
	var sweeping errgroup.Group
	for range 2 {
		sweeping.Go(func() error {
			for {
				select {
				case <-made:
					return nil
				default:
					sweep()
				}
			}
		})
	}
	for i := range 200 {
		c := &Cluster{options: Options{Name: "made"}}
		if err := c.makeDir(); err != nil {
			t.Errorf("folder %d: %v", i, err)
			break
		}
		if _, err := os.Stat(filepath.Join(c.dir, lockName)); err != nil || c.lock == nil {
			t.Errorf("folder %d was swept away: %v", i, err)
			break
		}
		c.lock.Close()
	}
	close(made)
	if err := sweeping.Wait(); err != nil {
		t.Error(err)
	}
}
