package expression

import "slices"

// instruction writes the result of a node into a register. Registers are
// blocks; the first are the variables.
type instruction struct {
	node
	dst int // a, b, c are registers too
}

// program computes some nodes of a graph, in order, with few registers.
type program struct {
	once      []instruction // when it is bound
	code      []instruction
	inputs    int             // variables
	constants map[int]float64 // by register, never written to
	registers int
	outputs   []int // registers
}

// compile orders the nodes that the outputs need. It reuses a register as soon as its value
// is no longer needed, so that long formulas stay in the cache.
func (g *graph) compile(outputs ...int) *program {
	lastUse := make([]int, len(g.nodes)) // number of the last node to need it
	for i := range lastUse {
		lastUse[i] = -1
	}
	for _, id := range outputs {
		lastUse[id] = len(g.nodes)
	}
	for id := len(g.nodes) - 1; id >= 0; id-- {
		if lastUse[id] < 0 {
			continue
		}
		for _, operand := range g.nodes[id].operands() {
			lastUse[operand] = max(lastUse[operand], id)
		}
	}
	varies := g.varying()
	p := &program{inputs: len(g.variables), constants: map[int]float64{}, registers: len(g.variables)}
	register := make([]int, len(g.nodes))
	var free []int
	for id, n := range g.nodes {
		switch {
		case lastUse[id] < 0: // not needed
			continue
		case n.op == opState:
			register[id] = n.a
			continue
		case n.op == opConstant:
			register[id] = p.registers
			p.constants[p.registers], _ = g.valueOf(id)
			p.registers++
			continue
		}
		operands := n.operands()
		for i, operand := range operands {
			computed := varies[operand] && g.nodes[operand].op != opState
			if computed && lastUse[operand] == id && !slices.Contains(operands[:i], operand) {
				free = append(free, register[operand])
			}
		}
		in := instruction{node: n}
		in.a, in.b, in.c = register[n.a], register[n.b], register[n.c]
		if last := len(free) - 1; last >= 0 && varies[id] {
			in.dst, free = free[last], free[:last]
		} else {
			in.dst = p.registers
			p.registers++
		}
		register[id] = in.dst
		if varies[id] {
			p.code = append(p.code, in)
		} else {
			p.once = append(p.once, in)
		}
	}
	for _, id := range outputs {
		p.outputs = append(p.outputs, register[id])
	}
	return p
}

// varying are the nodes that depend on a variable that changes while a program is bound.
func (g *graph) varying() []bool {
	varies := make([]bool, len(g.nodes))
	for id, n := range g.nodes {
		varies[id] = n.op == opState && n.a < g.states ||
			slices.ContainsFunc(n.operands(), func(operand int) bool { return varies[operand] })
	}
	return varies
}
