package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/journal"
)

const (
	address    = ":8080"
	reasonFile = "/podinfo/reason"
	sick       = "sick"
)

// serve answers requests until the process ends. An answer implies that the journals are complete. Pages about a
// folder use the first folder, or the requested one.
func (r *replica) serve(dirs []string) error {
	first := ""
	if len(dirs) > 0 {
		first = dirs[0]
	}
	sick := filepath.Join(first, sick)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", r.alive)
	mux.HandleFunc("POST /stuck", func(http.ResponseWriter, *http.Request) { r.stuck.Store(true) })
	mux.HandleFunc("GET /healthz", health(sick))
	mux.HandleFunc("GET /journal", serveIn(dirs, fileName))
	mux.HandleFunc("GET /violations", serveIn(dirs, violations))
	mux.HandleFunc("GET /reason", serveFile(reasonFile))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getenv("VERSION")) })
	mux.HandleFunc("GET /hostname", func(w http.ResponseWriter, _ *http.Request) {
		name, _ := os.Hostname()
		fmt.Fprint(w, name)
	})
	mux.HandleFunc("POST /drain", r.drain)
	mux.HandleFunc("POST /sick", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, os.WriteFile(sick, nil, 0o600))
	})
	mux.HandleFunc("POST /well", func(w http.ResponseWriter, _ *http.Request) { answer(w, os.Remove(sick)) })
	mux.HandleFunc("POST /exit", func(http.ResponseWriter, *http.Request) { os.Exit(1) })
	server := &http.Server{Addr: or(os.Getenv("ADDRESS"), address), Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// alive serves the liveness probe: once stuck, the process stays stuck.
func (r *replica) alive(w http.ResponseWriter, _ *http.Request) {
	if r.stuck.Load() {
		http.Error(w, "stuck, as somebody asked for", http.StatusServiceUnavailable)
	}
}

// health serves the readiness probe: a replica is not Ready while its volume has the file sick.
func health(sick string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(sick); err == nil {
			http.Error(w, "sick, as somebody asked for", http.StatusServiceUnavailable)
		}
	}
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// serveIn serves a file of the requested folder.
func serveIn(dirs []string, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		dir := request.FormValue("dir")
		if dir == "" && len(dirs) > 0 {
			dir = dirs[0]
		}
		if !slices.Contains(dirs, dir) {
			http.Error(w, fmt.Sprintf("no journal is kept in %q", dir), http.StatusNotFound)
			return
		}
		serveFile(filepath.Join(dir, name))(w, request)
	}
}

// serveFile serves the current content of a file; a missing file is empty.
func serveFile(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		content, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(content)
	}
}

// reason returns why the pod is deleted, as far as the kubelet has written it.
func reason() string {
	content, err := os.ReadFile(reasonFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// drain delays its caller, the preStop hook, for a time; the replica continues to write.
func (r *replica) drain(w http.ResponseWriter, request *http.Request) {
	patience, err := time.ParseDuration(request.FormValue("for"))
	if err == nil {
		err = r.note(journal.DrainFor(reason()))
	}
	if err == nil {
		select {
		case <-time.After(patience):
			err = r.note(journal.Drained)
		case <-request.Context().Done():
			err = request.Context().Err()
		}
	}
	answer(w, err)
}
