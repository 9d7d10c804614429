class Account {
    String owner
    int balance = 0

    def deposit(int amount) {
        balance += amount
        this
    }
}

def accounts = (1..50).collect { new Account(owner: "owner ${it % 7}").deposit(it * it) }
def byOwner = accounts.groupBy { it.owner }.collectEntries { name, list -> [name, list*.balance.sum()] }
byOwner.sort { -it.value }.each { name, sum -> println "$name: $sum" }

def fib
fib = { n -> n < 2 ? n : fib(n - 1) + fib(n - 2) }
println fib(15)
println accounts.findAll { it.balance % 3 == 0 }.collect { it.balance } as Set
println "a-b-c".split('-').collect { it.toUpperCase() }.join('+')
try {
    new Account().withdraw(3)
} catch (MissingMethodException e) {
    println e.method
}
