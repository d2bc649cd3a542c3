package measure

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/internal/loopback"
)

// Manager is a running manager.
type Manager struct {
	cmd     *exec.Cmd
	exited  chan struct{}
	err     error // how it ended; valid once exited is closed
	log     string
	metrics string
}

// StartManager runs the manager at path with the shipped settings and environment, but without leader election, which
// would renew its Lease by writes. Its log is a file.
func StartManager(ctx context.Context, path, kubeconfig, logFile string) (*Manager, error) {
	address, err := loopback.Address()
	if err != nil {
		return nil, err
	}
	m := &Manager{log: logFile, metrics: "http://" + address + "/metrics"}
	log, err := os.Create(m.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	m.cmd = exec.CommandContext(ctx, path, "--kubeconfig", kubeconfig, "--leader-election-enabled=false",
		"--metrics-bind-address", address, "--metrics-secure=false", "--cluster-client-allow-local-addresses", "--volumes-allow-paths",
		"--health-probe-bind-address", "0", "--log-format", "text")
	shipped, err := shippedEnvironment()
	if err != nil {
		return nil, err
	}
	m.cmd.Env = append(os.Environ(), shipped...)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if err := Spawn(m.cmd); err != nil {
		return nil, err
	}
	m.exited = make(chan struct{})
	go func() {
		m.err = m.cmd.Wait()
		close(m.exited)
	}()
	return m, nil
}

// shippedEnvironment returns the environment of the manager in the manifests, except values that come from a cluster.
func shippedEnvironment() ([]string, error) {
	objects, err := config.ManagerObjects()
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		var deployment appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment); err != nil {
			return nil, err
		}
		var set []string
		for _, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
			if variable.ValueFrom == nil {
				set = append(set, variable.Name+"="+variable.Value)
			}
		}
		return set, nil
	}
	return nil, errors.New("the manifests have no Deployment")
}

// Kill ends the manager and waits for its exit.
func (m *Manager) Kill() {
	_ = m.cmd.Process.Kill() // it may have ended already
	<-m.exited
}

// Ended returns a channel that is closed when the manager has ended.
func (m *Manager) Ended() <-chan struct{} { return m.exited }

// Explain adds the state of the manager to an error: how it ended, if it has, and the end of its log.
func (m *Manager) Explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nthe manager's log ends with:\n%s", errors.Join(err, m.alive()), m.logTail())
}

// alive returns an error if the manager has ended.
func (m *Manager) alive() error {
	select {
	case <-m.exited:
		return fmt.Errorf("the manager has ended: %w", cmp.Or(m.err, errors.New("exit status 0")))
	default:
		return nil
	}
}

func (m *Manager) logTail() string {
	const most = 4096
	log, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-most):])
}

// requestsTotal matches client-go's counter of the requests that a process has sent.
var requestsTotal = regexp.MustCompile(`^rest_client_requests_total\{code="([^"]*)",.*\bmethod="([A-Z]+)".*\} (\S+)$`)

// Requests returns the requests that the manager has sent since it started. Its reads include watches: the metric does
// not separate them.
func (m *Manager) Requests(ctx context.Context) (Counts, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.metrics, nil)
	if err != nil {
		return Counts{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Counts{}, fmt.Errorf("reading the manager's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Counts{}, fmt.Errorf("reading the manager's metrics: %s", response.Status)
	}
	return sumRequests(response.Body)
}

func sumRequests(metrics io.Reader) (Counts, error) {
	var sum Counts
	found := false
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		match := requestsTotal.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		found = true
		value, err := strconv.ParseFloat(match[3], 64)
		if err != nil {
			return Counts{}, err
		}
		if !isWrite(match[2]) {
			sum.Reads += int(value)
			continue
		}
		sum.Writes += int(value)
		if code, err := strconv.Atoi(match[1]); err != nil || code >= http.StatusBadRequest { // <error>: there was no answer
			sum.Refused += int(value)
		}
	}
	if err := lines.Err(); err != nil {
		return Counts{}, err
	}
	if !found {
		return Counts{}, errors.New("the manager has no metric rest_client_requests_total")
	}
	return sum, nil
}

// PeakMiB returns the manager's peak resident memory.
func (m *Manager) PeakMiB() (float64, error) { return PeakMiB(m.cmd.Process.Pid) }

// CPUSeconds returns the CPU time of the manager.
func (m *Manager) CPUSeconds() (float64, error) { return CPUSeconds(m.cmd.Process.Pid) }

// Spawn starts a process in a new process group. It ends with this process. When its context ends, the whole group is
// killed.
func Spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return child.Start(cmd)
}

// PeakMiB returns the peak resident memory of a process.
func PeakMiB(pid int) (float64, error) { return statusMiB(pid, "VmHWM:") }

// FileMiB returns how much of the resident memory of a process are pages of its program file. The kernel may drop them
// at any time, and how many it keeps mapped differs by its version.
func FileMiB(pid int) (float64, error) { return statusMiB(pid, "RssFile:") }

// statusMiB returns a field of the status of a process (proc(5)) in MiB.
func statusMiB(pid int, field string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, field); found {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			const kibOfMib = 1024
			return kib / kibOfMib, err
		}
	}
	return 0, fmt.Errorf("the status of process %d has no field %s", pid, field)
}

// CPUSeconds returns the CPU time of a process, in user and kernel mode.
func CPUSeconds(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(stat))
}

func parseStat(stat string) (float64, error) {
	// proc(5): pid (comm) state ..., where comm may contain any character; utime is the 14th, stime the 15th.
	const utime, stime, ticksASecond = 14 - 3, 15 - 3, 100
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= stime {
		return 0, fmt.Errorf("the state of a process is not understood: %s", stat)
	}
	sum := 0.0
	for _, field := range []string{fields[utime], fields[stime]} {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		sum += ticks / ticksASecond
	}
	return sum, nil
}
