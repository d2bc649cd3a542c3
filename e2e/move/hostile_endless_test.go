package move

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/hostile"
)

// podsOf returns the path of the pods of a namespace.
func podsOf(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }

// endless: a server returns too much of anything. Its Migration reports that, and uses no memory for it.
func endless(h *tenant) {
	var all []*api.Migration
	for name, hook := range endlessAnswers(h) {
		s := h.server(name)
		s.Deploy(h.namespace, "web", 1)
		s.Hook(hook(s))
		all = append(all, h.migrates(name, name, ""))
	}
	h.refused(all, 2*time.Minute, "")
}

// endlessAnswers lists the ways in which a server answers too much.
func endlessAnswers(h *tenant) map[string]func(*hostile.Server) hostile.Hook {
	const system = `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","annotations":{"a":"`
	to := func(path string, answer http.HandlerFunc) func(*hostile.Server) hostile.Hook {
		return func(*hostile.Server) hostile.Hook { return hostile.On(http.MethodGet, path, "", answer) }
	}
	return map[string]func(*hostile.Server) hostile.Hook{
		"one-object":    to("/api/v1/namespaces/kube-system", plain(system, strings.Repeat("a", 1<<16))),
		"bomb":          to("/api/v1/namespaces/kube-system", bomb(system, strings.Repeat("a", 1<<20))),
		"empty-objects": to(podsOf(h.namespace), bomb(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{}`, strings.Repeat(`,{}`, 1<<18))),
		"containers":    to(podsOf(h.namespace), bomb(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{}`, strings.Repeat(`,{}`, 1<<18))),
		"groups":        to("/apis", bomb(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{}`, strings.Repeat(`,{}`, 1<<18))),
		"events": to(podsOf(h.namespace), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for i := 0; r.Context().Err() == nil; i++ {
				event := `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":%q,"name":"p-%d","uid":"%d","resourceVersion":"%d"}}}` + "\n"
				if _, err := fmt.Fprintf(w, event, h.namespace, i, i, i+1); err != nil {
					return
				}
			}
		}),
		"pages": func(s *hostile.Server) hostile.Hook {
			return hostile.On(http.MethodGet, podsOf(h.namespace), "", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("watch") {
					hostile.Refuse(w, http.StatusUnprocessableEntity, "Invalid", "no streams here")
					return
				}
				items := make([]hostile.Object, 500)
				for i := range items {
					items[i] = hostile.Object{"metadata": hostile.Object{"namespace": h.namespace, "name": fmt.Sprintf("p-%d-%s", i, r.URL.Query().Get("continue"))}}
				}
				list := hostile.List("pods", "1", items...)
				list["metadata"] = hostile.Object{"resourceVersion": "1", "continue": strconv.Itoa(len(s.Asked()))}
				hostile.JSON(w, http.StatusOK, list)
			})
		},
	}
}

// packed compresses a part of an answer. Concatenated parts form one answer.
func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // writes into memory do not fail
	}
	return b.Bytes()
}

// bomb answers with a beginning and repeats a compressed block until the client stops reading.
func bomb(begin, block string) http.HandlerFunc {
	head, rest := packed(begin), packed(block)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, err := w.Write(head)
		for err == nil && r.Context().Err() == nil {
			_, err = w.Write(rest)
		}
	}
}

// plain answers like bomb, without compression.
func plain(begin, block string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, begin)
		for err == nil && r.Context().Err() == nil {
			_, err = io.WriteString(w, block)
		}
	}
}
