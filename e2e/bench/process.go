package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// process is a running manager.
type process struct {
	cmd     *exec.Cmd
	exited  chan struct{}
	err     error // how it ended; to be read once exited is closed
	log     string
	metrics string
}

// startManager runs the manager with the shipped rights and settings, but without
// leader election.
func startManager(ctx context.Context, b *bench, path string) (*process, error) {
	kubeconfig, err := b.east.UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p := &process{log: filepath.Join(b.dir, "manager.log"), metrics: "http://" + address + "/metrics"}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.CommandContext(ctx, path, "--kubeconfig", kubeconfig, "--leader-election-enabled=false",
		"--metrics-bind-address", address, "--metrics-secure=false", "--cluster-client-allow-local-addresses", "--volumes-allow-paths",
		"--health-probe-bind-address", "0", "--log-format", "text")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := spawn(p.cmd); err != nil {
		return nil, err
	}
	p.exited = make(chan struct{})
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// freeAddress is one of the loopback interface that nobody listened on a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// kill ends the manager and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.exited
}

// alive says how the manager ended, if it has.
func (p *process) alive() error {
	select {
	case <-p.exited:
		return fmt.Errorf("the manager has ended: %w", cmp.Or(p.err, errors.New("exit status 0")))
	default:
		return nil
	}
}

func (p *process) logTail() string {
	const most = 4096
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-most):])
}

// requestsTotal is client-go's counter of the requests that a process has sent.
var requestsTotal = regexp.MustCompile(`^rest_client_requests_total\{.*\bmethod="([A-Z]+)".*\} (\S+)$`)

// writes is how many writing requests the manager has sent since it began.
func (p *process) writes(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("reading the manager's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("reading the manager's metrics: %s", response.Status)
	}
	return sumWrites(response.Body)
}

func sumWrites(metrics io.Reader) (int, error) {
	sum, found := 0.0, false
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		match := requestsTotal.FindStringSubmatch(lines.Text())
		if match == nil {
			continue
		}
		found = true
		if !isWrite(match[1]) {
			continue
		}
		value, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if !found {
		return 0, errors.New("the manager has no metric rest_client_requests_total")
	}
	return int(sum), nil
}

// peakMiB is the most memory that the manager has had resident at any time.
func (p *process) peakMiB() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		rest, found := bytes.CutPrefix(line, []byte("VmHWM:"))
		if !found {
			continue
		}
		kib, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		value, err := strconv.ParseFloat(string(kib), 64)
		return value / 1024, err
	}
	return 0, errors.New("the manager's status names no peak")
}
