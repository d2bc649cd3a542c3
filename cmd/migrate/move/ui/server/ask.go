package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/report/chart"
	"github.com/sliceshift/sliceshift/migration/report/page"
	"github.com/sliceshift/sliceshift/migration/view"
)

// document is a page of facts and tables, with a timeline as an image, and the checks before a move.
type document struct {
	Title    string            `json:"title"`
	Lead     string            `json:"lead"`
	Facts    []page.Fact       `json:"facts"`
	Sections []page.Section    `json:"sections"`
	Note     string            `json:"note"`
	Image    string            `json:"image,omitempty"`
	Checks   *preflight.Report `json:"checks,omitempty"`
}

func newDocument(p page.Page) (document, error) {
	d := document{Title: p.Title, Lead: p.Lead, Facts: p.Facts, Sections: p.Sections, Note: p.Note}
	if p.Chart != nil {
		image, err := chart.SVG(*p.Chart)
		if err != nil {
			return document{}, err
		}
		d.Image = string(image)
	}
	return d, nil
}

// report answers with the report of a migration: as a document, or with format=html as the file of "report -o html".
func (s *user) report(w http.ResponseWriter, r *http.Request) {
	m, found := s.find(w, r)
	if !found {
		return
	}
	reported(w, r, s.reportOf(m, s.Board.Time(s.Clock.Now())).Page())
}

// reported answers with a report: as a document, or as a file.
func reported(w http.ResponseWriter, r *http.Request, made page.Page) {
	if r.URL.Query().Get("format") != "html" {
		give(w, made, nil)
		return
	}
	html, err := page.HTML(made)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", r.PathValue("name")+".html"))
	_, _ = w.Write(html) // the client has disconnected
}

// plan answers with the plan of a migration from its current state.
func (s *user) plan(w http.ResponseWriter, r *http.Request) {
	m, found := s.find(w, r)
	if !found {
		return
	}
	select {
	case s.planning <- struct{}{}:
		defer func() { <-s.planning }()
	case <-r.Context().Done():
		return
	}
	forecast, err := s.Plan(r.Context(), m)
	if err != nil {
		fail(w, http.StatusConflict, err.Error())
		return
	}
	give(w, forecast.Page, forecast.Checks)
}

// evacuation answers with the state of an Evacuation, as report does.
func (s *user) evacuation(w http.ResponseWriter, r *http.Request) {
	made, err := s.Evacuation(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	if err != nil {
		s.refuse(w, err)
		return
	}
	reported(w, r, made)
}

func give(w http.ResponseWriter, made page.Page, checks *preflight.Report) {
	d, err := newDocument(made)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	d.Checks = checks
	answer(w, http.StatusOK, d)
}

// request is the action that a user requests, with its confirmation.
type request struct {
	Verb view.Verb `json:"verb"`
	// UID is the UID of the migration that the user saw.
	UID types.UID `json:"uid"`
	// Confirmed is the name of the migration, typed or set by a second click.
	Confirmed string `json:"confirmed"`
}

const mostRequest = 4 << 10

// act sets the mode of a migration, with the user's permissions.
func (s *user) act(w http.ResponseWriter, r *http.Request) {
	var asked request
	if r.Header.Get("Content-Type") != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "the request is not JSON")
		return
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostRequest))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		fail(w, http.StatusBadRequest, "the request cannot be read: "+err.Error())
		return
	}
	if asked.Confirmed != r.PathValue("name") {
		fail(w, http.StatusBadRequest, "it was not confirmed: the name of the migration is "+r.PathValue("name"))
		return
	}
	record := r.PathValue("kind") == "run"
	store := s.Store(r.PathValue("namespace"), r.PathValue("name"), record)
	m, err := store.Load(r.Context())
	if err != nil {
		s.refuse(w, err)
		return
	}
	action, known := view.Find(view.Actions(m, record), asked.Verb)
	switch {
	case !known:
		fail(w, http.StatusBadRequest, fmt.Sprintf("there is no action %q", asked.Verb))
		return
	case m.UID != asked.UID:
		fail(w, http.StatusConflict, "it is another migration of that name than the one that was shown: look at it again")
		return
	case action.Refused != "":
		fail(w, http.StatusConflict, action.Refused)
		return
	}
	if err := store.Change(r.Context(), records.Change{Mode: action.Mode}); err != nil {
		s.refuse(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]string{"mode": string(action.Mode)})
}

// refuse answers with the error of the API server.
func (s *user) refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	// 401 would refer to the token of the page, not to the cluster's user.
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code > http.StatusUnauthorized {
		code = int(status.Status().Code)
	}
	fail(w, code, "cluster "+s.Cluster+": "+err.Error())
}
