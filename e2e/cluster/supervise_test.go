package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/cluster/process"
)

func TestSupervision(t *testing.T) {
	c, err := Start(bounded(t), Options{Name: "s", Binary: controlPlane(t)})
	if err != nil {
		t.Fatal(err)
	}
	c.StopAfter(t)
	for _, role := range Roles() {
		t.Run(string(role)+" ends by itself", func(t *testing.T) { testEndsByItself(t, c, role) })
	}
	t.Run("a panic is kept", func(t *testing.T) { testPanicIsKept(t, c) })
	t.Run("what a test does is not counted", func(t *testing.T) { testNotCounted(t, c) })
	t.Run("a test takes over", func(t *testing.T) { testTakesOver(t, c) })
	t.Run("a frozen role ends by itself", func(t *testing.T) { testFrozenEnds(t, c) })
	t.Run("check", func(t *testing.T) { testCheck(t, c) })
	t.Run("again and again", func(t *testing.T) { testBroken(t, c) })
}

// strike sends a signal to the process of a role from outside, and waits until its end is counted.
func strike(t *testing.T, c *Cluster, role Role, signal syscall.Signal) Death {
	t.Helper()
	before := len(c.Deaths())
	if err := syscall.Kill(c.process(role).PID(), signal); err != nil {
		t.Fatal(err)
	}
	var deaths []Death
	eventually(t, string(role)+" is counted", func(context.Context) error {
		deaths = c.Deaths()[before:]
		if !slices.ContainsFunc(deaths, func(d Death) bool { return d.Role == role }) {
			return errors.New("no end is counted")
		}
		return nil
	})
	if role != Kwok {
		deaths = withoutPanics(deaths)
	}
	if len(deaths) != 1 || deaths[0].Role != role {
		t.Fatalf("ends counted: %v, want one of %s", deaths, role)
	}
	return deaths[0]
}

// withoutPanics removes the deaths that a bug of kwok caused, which are rightly counted. kwok initializes its stages
// at their first use without a lock (lifecycle.Stage.init of v0.8.0), and two concurrent pods can meet a
// half-initialized stage.
func withoutPanics(deaths []Death) []Death {
	return slices.DeleteFunc(deaths, func(d Death) bool { return d.Role == Kwok && d.Status == "exit status 2" })
}

// waitSuccessor waits until a role runs again in another process than the old one.
func waitSuccessor(t *testing.T, c *Cluster, role Role, old *process.Process) {
	t.Helper()
	eventually(t, string(role)+" is started again", func(context.Context) error {
		if p := c.process(role); p == old || !p.IsRunning() {
			return errors.New("it does not run")
		}
		return nil
	})
	if err := c.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
}

// testPodsCome proves that every role does its part for a pod.
func testPodsCome(t *testing.T, c *Cluster) {
	t.Helper()
	client := clientOf(t, c)
	createPod(t, client, makePod("probe", nil))
	waitPodReady(t, client, "probe")
	if err := client.CoreV1().Pods(namespace).Delete(t.Context(), "probe", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitPodGone(t, client, "probe")
}

func testEndsByItself(t *testing.T, c *Cluster, role Role) {
	old := c.process(role)
	death := strike(t, c, role, syscall.SIGKILL)
	if death.Status != "signal: killed" || death.Time.IsZero() {
		t.Errorf("counted as %v, want the signal and a time", death)
	}
	waitSuccessor(t, c, role, old)
	testPodsCome(t, c)
}

func testPanicIsKept(t *testing.T, c *Cluster) {
	old := c.process(Kwok)
	death := strike(t, c, Kwok, syscall.SIGABRT)
	if !strings.HasPrefix(death.Log, "SIGABRT: abort\n") || !strings.Contains(death.Log, "goroutine ") {
		t.Errorf("kept of the log:\n%s\nwant the report of the Go runtime", death.Log)
	}
	waitSuccessor(t, c, Kwok, old)
}

// testNotCounted stops and freezes roles, as tests do. Another role, which exits unexpectedly later and is restarted,
// shows that the supervisor has had its time.
func testNotCounted(t *testing.T, c *Cluster) {
	before := len(c.Deaths())
	for _, step := range []func() error{
		func() error { return c.Kill(Kwok) },
		func() error { return c.StopRole(ControllerManager) },
		func() error { return c.Freeze(Etcd) },
		func() error { return c.Thaw(Etcd) }, // restarts its clients
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	gone, old := c.process(Kwok), c.process(Scheduler)
	strike(t, c, Scheduler, syscall.SIGKILL)
	waitSuccessor(t, c, Scheduler, old)
	if c.process(Kwok) != gone {
		t.Error("kwok was started again, want it to stay down as the test wants it")
	}
	for _, role := range []Role{ControllerManager, Kwok} {
		if err := c.StartRole(bounded(t), role); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	testPodsCome(t, c)
	if deaths := withoutPanics(c.Deaths()[before:]); len(deaths) != 1 {
		t.Errorf("counted: %v, want the scheduler alone", deaths)
	}
}

// testTakesOver kills a role that has just exited unexpectedly. Whether or not it was restarted by then, it is down,
// and only StartRole starts it again.
func testTakesOver(t *testing.T, c *Cluster) {
	strike(t, c, ControllerManager, syscall.SIGKILL)
	if err := c.Kill(ControllerManager); err != nil {
		t.Fatal(err)
	}
	old := c.process(Scheduler)
	strike(t, c, Scheduler, syscall.SIGKILL)
	waitSuccessor(t, c, Scheduler, old)
	if c.process(ControllerManager).IsRunning() {
		t.Error("the controller manager runs, want it to stay down")
	}
	if err := c.StartRole(bounded(t), ControllerManager); err != nil {
		t.Fatal(err)
	}
	testPodsCome(t, c)
}

func testFrozenEnds(t *testing.T, c *Cluster) {
	if err := c.Freeze(APIServer); err != nil {
		t.Fatal(err)
	}
	old := c.process(APIServer)
	strike(t, c, APIServer, syscall.SIGKILL)
	waitSuccessor(t, c, APIServer, old)
	testPodsCome(t, c)
}

// testBroken kills a role at each restart.
func testBroken(t *testing.T, c *Cluster) {
	eventually(t, "the cluster is declared broken", func(context.Context) error {
		if pid := c.PID(Kwok); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
		}
		if broken := c.Broken(); broken == nil {
			return errors.New("it is not")
		}
		return nil
	})
	broken := c.Broken()
	for _, part := range []string{"cluster s", "kwok", fmt.Sprint(maxDeaths, " times"), "signal: killed", c.LogFile(Kwok), "start the cluster anew"} {
		if !strings.Contains(broken.Error(), part) {
			t.Errorf("error %q, want it to say %q", broken, part)
		}
	}
	if err := c.WaitReady(bounded(t)); !errors.Is(err, broken) {
		t.Errorf("WaitReady says %v, want %v", err, broken)
	}
	old := c.process(Scheduler)
	strike(t, c, Scheduler, syscall.SIGKILL)
	if c.succeed(Scheduler, old) {
		t.Error("a role of a broken cluster was started again")
	}
}

func TestBackoff(t *testing.T) {
	at := func(seconds ...int) []time.Time {
		var times []time.Time
		for _, s := range seconds {
			times = append(times, time.Unix(int64(s), 0))
		}
		return times
	}
	tests := map[string]struct {
		deaths []time.Time
		want   time.Duration
		again  bool
	}{
		"the first":              {deaths: at(0), want: firstBackoff, again: true},
		"the second":             {deaths: at(0, 1), want: 2 * firstBackoff, again: true},
		"the second, much later": {deaths: at(0, 60), want: firstBackoff, again: true},
		"one too few":            {deaths: at(0, 1, 2, 3), want: 8 * firstBackoff, again: true},
		"too many":               {deaths: at(0, 1, 2, 3, 4)},
		"too many in a minute":   {deaths: at(0, 10, 20, 30, 59)},
		"not within a minute":    {deaths: at(0, 10, 20, 30, 60), want: 8 * firstBackoff, again: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if pause, again := backoff(tc.deaths); pause != tc.want || again != tc.again {
				t.Errorf("backoff: %s, %t; want %s, %t", pause, again, tc.want, tc.again)
			}
		})
	}
}
