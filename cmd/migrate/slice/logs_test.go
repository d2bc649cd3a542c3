package slice

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

// webPod returns a Running pod of shop/web with the containers web and proxy, and the init container setup.
func webPod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: slicesapi.GroupVersion.String(), Kind: "StatefulSet", Name: "web", UID: "slice", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: "node", InitContainers: []corev1.Container{{Name: "setup"}}, Containers: []corev1.Container{{Name: "web"}, {Name: "proxy"}},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func readyFor(hours int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		since := metav1.NewTime(commandtest.Noon.Add(-time.Duration(hours) * time.Hour))
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
	}
}

func defaultContainer(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{defaultContainerAnnotationKey: name} }
}

func ofAnother(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "another" }

// logServer serves shop/web with pods. A log has the name of its pod and container, and the options of its request.
func logServer(t *testing.T, pods ...*corev1.Pod) *apitest.Server {
	t.Helper()
	objects := []client.Object{webSlice(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", Labels: map[string]string{"app": "db"}}}}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	east := apitest.Serve(t, podResources(), objects...)
	east.Log = func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		container := query.Get("container")
		query.Del("container")
		fmt.Fprintf(w, "%s %s %s\n", r.PathValue("name"), container, query.Encode())
	}
	return east
}

// TestY8Logs: logs prints the logs of a set's pods as kubectl does for built-in kinds.
func TestY8Logs(t *testing.T) {
	three := []*corev1.Pod{webPod("web-10"), webPod("web-2", readyFor(1)), webPod("web-1", readyFor(2)), webPod("web-3", ofAnother)}
	found, out := "Found 3 pods, using pod/web-1\n", "out of: web, proxy, debug (ephem), setup (init)\n"
	for name, tc := range map[string]struct {
		args    []string
		pods    []*corev1.Pod
		want    int
		wantOut string
		wantErr string
	}{
		"the best pod":         {args: []string{"web"}, pods: three, wantOut: "web-1 web \n", wantErr: found + `Defaulted container "web" ` + out},
		"the only pod":         {args: []string{"sts/web"}, pods: three[:1], wantOut: "web-10 web \n", wantErr: `Defaulted container "web" ` + out},
		"all pods":             {args: []string{"web", "--all-pods"}, pods: three, wantOut: "[pod/web-1/web] web-1 web \n[pod/web-2/web] web-2 web \n[pod/web-10/web] web-10 web \n"},
		"an ordinal":           {args: []string{"web", "--ordinal", "2", "-c", "proxy"}, pods: three, wantOut: "web-2 proxy \n"},
		"two ordinals":         {args: []string{"web", "proxy", "--ordinal", "10,2"}, pods: three, wantOut: "[pod/web-10/proxy] web-10 proxy \n[pod/web-2/proxy] web-2 proxy \n"},
		"all containers":       {args: []string{"web", "--ordinal", "2", "--all-containers", "--prefix"}, pods: three, wantOut: "[pod/web-2/setup] web-2 setup \n[pod/web-2/web] web-2 web \n[pod/web-2/proxy] web-2 proxy \n[pod/web-2/debug] web-2 debug \n"},
		"the default one":      {args: []string{"web"}, pods: []*corev1.Pod{webPod("web-0", defaultContainer("proxy"))}, wantOut: "web-0 proxy \n"},
		"a wrong default":      {args: []string{"web"}, pods: []*corev1.Pod{webPod("web-0", defaultContainer("x"))}, wantOut: "web-0 web \n", wantErr: `Default container name "x" not found in pod web-0`},
		"an init container":    {args: []string{"web", "setup"}, pods: three[:1], wantOut: "web-10 setup \n"},
		"options":              {args: []string{"web", "web", "-p", "--timestamps", "--tail", "5", "--limit-bytes", "9", "--since", "90s"}, pods: three[:1], wantOut: "web-10 web limitBytes=9&previous=true&sinceSeconds=90&tailLines=5&timestamps=true\n"},
		"since a moment":       {args: []string{"web", "web", "--since", "1ms", "--insecure-skip-tls-verify-backend"}, pods: three[:1], wantOut: "web-10 web insecureSkipTLSVerifyBackend=true&sinceSeconds=1\n"},
		"no line":              {args: []string{"web", "web", "--tail", "0"}, pods: three[:1], wantOut: "web-10 web tailLines=0\n"},
		"since a time":         {args: []string{"web", "web", "--since-time", "2026-01-31T06:00:00+01:00"}, pods: three[:1], wantOut: "web-10 web sinceTime=2026-01-31T05%3A00%3A00Z\n"},
		"no such container":    {args: []string{"web", "-c", "x"}, pods: three[:1], want: 1, wantErr: "container x is not valid for pod web-10 " + out},
		"no such set":          {args: []string{"other"}, pods: three, want: 1, wantErr: "StatefulSet shop/other in cluster east"},
		"two containers":       {args: []string{"web", "web", "-c", "web"}, want: 2, wantErr: "give the container once"},
		"one of all":           {args: []string{"web", "web", "--all-containers"}, want: 2, wantErr: "--all-containers excludes container web"},
		"some of all":          {args: []string{"web", "--all-pods", "--ordinal", "1"}, want: 2, wantErr: "--all-pods and --ordinal exclude each other"},
		"a negative ordinal":   {args: []string{"web", "--ordinal", "-1"}, want: 2, wantErr: "--ordinal must not be negative"},
		"two times":            {args: []string{"web", "--since", "1s", "--since-time", "2026-01-31T06:00:00Z"}, want: 2, wantErr: "--since and --since-time exclude each other"},
		"a negative time":      {args: []string{"web", "--since", "-1s"}, want: 2, wantErr: "--since must not be negative"},
		"a negative size":      {args: []string{"web", "--limit-bytes", "-1"}, want: 2, wantErr: "--limit-bytes must not be negative"},
		"a negative number":    {args: []string{"web", "--tail", "-2"}, want: 2, wantErr: "--tail must be at least -1"},
		"no wait":              {args: []string{"web", "--pod-running-timeout", "0s"}, want: 2, wantErr: "--pod-running-timeout must be positive"},
		"not a time":           {args: []string{"web", "--since-time", "noon"}, want: 2, wantErr: `--since-time must be a time such as 2026-01-31T06:00:00Z, not "noon"`},
		"no name":              {want: 2, wantErr: "takes one StatefulSet, 0 were given"},
		"too many at once":     {args: []string{"web", "-f", "--all-pods", "--all-containers"}, pods: three, want: 1, wantErr: "12 logs would be followed at once, more than --max-log-requests 5: raise it"},
		"many, one at a time":  {args: []string{"web", "--all-pods", "--all-containers"}, pods: three, wantOut: "[pod/web-10/debug] web-10 debug \n"},
		"a log that is not it": {args: []string{"web", "--ordinal", "7"}, pods: []*corev1.Pod{webPod("web-7"), webPod("web-8")}, wantOut: "web-7 web \n", wantErr: "Defaulted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pods []*corev1.Pod
			for _, pod := range tc.pods {
				pods = append(pods, pod.DeepCopy())
			}
			east := logServer(t, pods...)
			c := newConsole(append([]string{"logs"}, append(tc.args, "-n", "shop", "--kubeconfig", east.Kubeconfig(t))...)...)
			c.Expect(t, tc.want, tc.wantOut, tc.wantErr)
		})
	}
}

// TestY8LogsUnchanged: a log is written unchanged into a file or pipe, and escaped on a terminal.
func TestY8LogsUnchanged(t *testing.T) {
	const text = "\x1b[36mblue\x1b[0m\r\n\xff without a newline"
	run := func(prepare func(*commandtest.Console)) *commandtest.Console {
		east := logServer(t, webPod("web-0"))
		east.Log = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
		c := newConsole("logs", "web", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t))
		prepare(c)
		if code := c.Run(t); code != command.ExitDone {
			t.Fatalf("exit code %d: %s", code, c.Stderr)
		}
		return c
	}
	if got := run(func(*commandtest.Console) {}).Stdout.String(); got != text {
		t.Errorf("into a file: %q", got)
	}
	if got := run(func(c *commandtest.Console) { c.Width = func() int { return 80 } }).Stdout.String(); !strings.Contains(got, `\u001b[36mblue`) {
		t.Errorf("on a terminal: %q", got)
	}
}

// TestY8LogsAwaited: a pod that does not exist yet is awaited, for as long as the flag says.
func TestY8LogsAwaited(t *testing.T) {
	for name, tc := range map[string]struct {
		create  string
		want    int
		wantErr string
	}{
		"it comes":     {"web-2", 0, ""},
		"another":      {"web-1", 1, "cluster east: StatefulSet shop/web has no pod web-2, only: web-1"},
		"it is absent": {"", 1, "cluster east: StatefulSet shop/web has no pod\n"},
	} {
		t.Run(name, func(t *testing.T) {
			east := logServer(t)
			c := newConsole("logs", "web", "web", "--ordinal", "2", "--pod-running-timeout", "3s", "-n", "shop", "--kubeconfig", east.Kubeconfig(t))
			code := c.Begin(t)
			c.AwaitWaiting(t)
			if tc.create != "" {
				if err := east.Store.Create(t.Context(), webPod(tc.create)); err != nil {
					t.Fatal(err)
				}
			}
			if got := c.PassTime(t, code, retryEvery); got != tc.want || !strings.Contains(c.Stderr.String(), tc.wantErr) {
				t.Errorf("exit code %d, stderr %q", got, c.Stderr)
			}
			if got := c.Stdout.String(); (got == "web-2 web \n") != (tc.want == 0) {
				t.Errorf("stdout %q", got)
			}
		})
	}
}

// TestY8LogsFailed: an error ends the command, unless the other logs shall be printed. While a log is followed, a container
// that has not started is awaited.
func TestY8LogsFailed(t *testing.T) {
	waiting := apierrors.NewBadRequest(`container "web" in pod "web-0" is waiting to start: ContainerCreating`)
	for name, tc := range map[string]struct {
		args []string
		// failures is how often the log of web-0 is refused.
		failures, want   int
		wantOut, wantErr string
	}{
		"refused":           {nil, 9, 1, "", "error: the log of container web of pod web-0: container \"web\" in pod \"web-0\" is waiting to start"},
		"ignored":           {[]string{"--ignore-errors"}, 9, 0, "[pod/web-1/web] web-1\n", "error: the log of container web of pod web-0"},
		"followed, ignored": {[]string{"-f", "--ignore-errors"}, 9, 0, "[pod/web-1/web] web-1\n", "error: the log of container web of pod web-0"},
		"followed, started": {[]string{"-f"}, 2, 0, "[pod/web-0/web] web-0\n", "is waiting to start"},
		"followed, never":   {[]string{"-f", "--pod-running-timeout", "3s"}, 99, 1, "", "error: the log of container web of pod web-0"},
	} {
		t.Run(name, func(t *testing.T) {
			east := logServer(t, webPod("web-0"), webPod("web-1"))
			var mu sync.Mutex
			left := tc.failures
			east.Log = func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if pod := r.PathValue("name"); pod != "web-0" || left == 0 {
					fmt.Fprintln(w, pod)
					return
				}
				left--
				apitest.Fail(w, waiting)
			}
			c := newConsole(append([]string{"logs", "web", "web", "--all-pods", "-n", "shop", "--kubeconfig", east.Kubeconfig(t)}, tc.args...)...)
			if got := c.PassTime(t, c.Begin(t), retryEvery); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
			if out := c.Stdout.String(); !strings.Contains(out, tc.wantOut) || !strings.Contains(c.Stderr.String(), tc.wantErr) {
				t.Errorf("stdout %q, stderr %q", out, c.Stderr)
			}
		})
	}
}

// TestY8LogsFollowed: several logs are followed at once, for longer than one request may take, until the user interrupts.
func TestY8LogsFollowed(t *testing.T) {
	east := logServer(t, webPod("web-0"), webPod("web-1"))
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	east.Log = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		beat := time.NewTicker(100 * time.Millisecond)
		defer beat.Stop()
		for n := 1; ; n++ {
			w.(http.Flusher).Flush()
			select {
			case <-beat.C:
				fmt.Fprintf(w, "%s line %d\n", r.PathValue("name"), n)
			case <-r.Context().Done():
				return
			case <-done:
				return
			}
		}
	}
	c, shown := newConsole("logs", "web", "web", "--all-pods", "-f", "-n", "shop", "--request-timeout", "1s", "--kubeconfig", east.Kubeconfig(t)), &commandtest.Terminal{}
	c.Out = shown
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- c.Execute(ctx) }()
	shown.Await(t, "line 13") // after --request-timeout: a followed log has none
	interrupt()
	if got := <-ended; got != command.ExitFailure || c.Stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", got, c.Stderr)
	}
}

// TestY8ByLogging: the pod whose log is printed is the one that kubectl would select.
func TestY8ByLogging(t *testing.T) {
	created := func(hour int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.CreationTimestamp = metav1.NewTime(commandtest.Noon.Add(time.Duration(hour) * time.Hour))
		}
	}
	in := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Phase = phase }
	}
	restarted := func(times int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: times}} }
	}
	unassigned := func(pod *corev1.Pod) { pod.Spec.NodeName = "" }
	sorted := []*corev1.Pod{
		webPod("ready for long", readyFor(3)),
		webPod("ready for a while, restarted", readyFor(1), restarted(2)),
		webPod("ready for a while", readyFor(1), created(1)),
		webPod("ready for a while, younger", readyFor(1), created(2)),
		webPod("not ready, restarted", restarted(1)),
		webPod("not ready"),
		webPod("unknown", in(corev1.PodUnknown)),
		webPod("pending", in(corev1.PodPending)),
		webPod("unassigned", unassigned),
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := byLogging(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("%s and %s: %d, want %d", a.Name, b.Name, got, want)
			}
		}
	}
}
