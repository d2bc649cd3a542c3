package progress

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Steering is what a person can do who watches.
type Steering struct {
	// Steer writes a mode; nil: nothing can be steered.
	Steer func(api.Mode) error
	// Interrupt is for the keys that end the process: the terminal gives it no signal while they are read.
	Interrupt func()
}

// liveEvery is how often the seconds are counted on.
const liveEvery = 250 * time.Millisecond

// Live is a display on a terminal whose keys are read: lines of events, and below them both slices and
// how far the move is. Once it is closed, or its keys have ended it, events are plain lines.
type Live struct {
	program   *tea.Program
	ended     chan struct{}
	plain     plainDisplay
	width     func() int
	interrupt func()
}

// NewLive begins to draw.
func NewLive(c *command.Common, s Steering) *Live {
	m := liveModel{panel: panel{Meter{terminal.Bar{Paint: c.Paint(), Unicode: c.Unicode()}}}, now: c.Clock.Now, width: c.Width(), steer: s.Steer}
	l := &Live{
		program: tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithoutSignalHandler()),
		ended:   make(chan struct{}), plain: plainDisplay{c.Out, c.Paint()}, width: c.Width, interrupt: s.Interrupt,
	}
	go l.run()
	return l
}

func (l *Live) run() {
	last, err := l.program.Run()
	close(l.ended)
	left, known := last.(liveModel)
	if err != nil {
		// A terminal that cannot be drawn on stops no move: its events are lines from here on.
		fmt.Fprintf(l.plain.out, "the terminal cannot be drawn on: %v\n", err)
		return
	}
	if known && left.interrupted && l.interrupt != nil {
		l.interrupt()
	}
}

// Show implements Display.
func (l *Live) Show(e Event) {
	select {
	case <-l.ended:
		l.plain.Show(e)
	default:
		l.program.Println(strings.Join(e.lines(l.plain.paint, l.width()), "\n"))
	}
}

// Update implements Display.
func (l *Live) Update(p State) { l.program.Send(p) }

// Close implements Display.
func (l *Live) Close() {
	l.program.Send(overMsg{})
	<-l.ended
}

// Line writes a line above what is drawn.
func (l *Live) Line(text string) {
	select {
	case <-l.ended:
		fmt.Fprintln(l.plain.out, text)
	default:
		l.program.Println(text)
	}
}

// Lost says that what is shown is old, and why; nil: it is not any more.
func (l *Live) Lost(err error) { l.program.Send(lostMsg{err}) }

// The messages of the model besides State, keys and sizes.
type (
	lostMsg    struct{ err error }
	overMsg    struct{}
	tickMsg    struct{}
	steeredMsg struct {
		mode api.Mode
		err  error
	}
)

// liveModel is what a live display shows, and what its keys do. It has no terminal and no clock of its own.
type liveModel struct {
	panel panel
	now   func() time.Time
	state State
	known bool
	width int
	steer func(api.Mode) error
	// asks is true while a rollback waits to be confirmed; says is what the last key came to.
	asks bool
	// lost is why nothing new is known since then; nil: it is.
	lost        error
	lostSince   time.Time
	says        string
	over        bool
	interrupted bool
}

// Init implements tea.Model.
func (m liveModel) Init() tea.Cmd { return tick() }

func tick() tea.Cmd { return tea.Tick(liveEvery, func(time.Time) tea.Msg { return tickMsg{} }) }

// Update implements tea.Model.
func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case State:
		m.state, m.known = msg, true
		m.lost = nil
	case lostMsg:
		if m.lost == nil {
			m.lostSince = m.now()
		}
		m.lost = msg.err
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case tickMsg:
		return m, tick()
	case steeredMsg:
		m.says = "mode " + string(msg.mode) + " is written"
		if msg.err != nil {
			m.says = "mode " + string(msg.mode) + " is not written: " + msg.err.Error()
		}
	case overMsg:
		m.over = true
		return m, tea.Quit
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

// key is what a key does. A rollback is confirmed first; ordinals that have moved go back by it.
func (m liveModel) key(name string) (tea.Model, tea.Cmd) {
	asked := m.asks
	m.asks = false
	switch {
	case name == "ctrl+c":
		m.over, m.interrupted = true, true
		return m, tea.Quit
	case m.steer == nil:
		return m, nil
	case name == "p":
		return m.steered(api.ModePause)
	case name == "r":
		return m.steered(api.ModeRun)
	case name == "b":
		m.asks, m.says = true, ""
	case name == "y" && asked:
		return m.steered(api.ModeRollback)
	}
	return m, nil
}

func (m liveModel) steered(mode api.Mode) (tea.Model, tea.Cmd) {
	steer := m.steer
	m.says = "writing mode " + string(mode)
	return m, func() tea.Msg { return steeredMsg{mode, steer(mode)} }
}

// View implements tea.Model.
func (m liveModel) View() tea.View {
	if m.over || !m.known || m.width < terminal.LeastWidth {
		return tea.NewView("")
	}
	lines := m.panel.lines(m.state, m.now(), m.width)
	return tea.NewView(strings.Join(append(lines, m.foot()), "\n"))
}

// foot is the last line: what the keys do, or what the last one came to.
func (m liveModel) foot() string {
	text := "  ^C leave"
	if m.steer != nil {
		text = "  p pause   r resume   b roll back   ^C leave"
	}
	switch {
	case m.lost != nil:
		since := terminal.Coarse(m.now().Sub(m.lostSince))
		return m.panel.Paint.Red(terminal.Clip(fmt.Sprintf("  no connection for %s, what is shown is from before: %v", since, m.lost), m.width-1))
	case m.asks:
		return m.panel.Paint.Yellow(terminal.Clip("  every ordinal goes back to the source: y to confirm, any other key not to", m.width-1))
	case m.says != "" && len(text+m.says) > m.width-len("    "):
		text = "  " + m.says // what the key came to counts more than what keys there are
	case m.says != "":
		text += "   " + m.says
	}
	return m.panel.Paint.Dim(terminal.Clip(text, m.width-1))
}
